package gateway

import (
	"errors"
	"fmt"
	"time"
)

// Workers is the way of requests from edges to workers. A gateway that asks the
// services itself does not read it.
type Workers struct {
	Queue     int           `yaml:"queue"`      // requests that may wait for a worker, of all edges
	QueueWait time.Duration `yaml:"queue_wait"` // and how long
	Jobs      int           `yaml:"jobs"`       // requests of one worker at a time
	Runs      int           `yaml:"runs"`       // how often workers may take a request before its first output
}

func defaultWorkers() Workers {
	return Workers{Queue: 1000, QueueWait: 5 * time.Second, Jobs: 500, Runs: 3}
}

// Validate implements config.Validator.
func (c *Workers) Validate() error {
	switch {
	case c.Queue < 1 || c.Jobs < 1:
		return errors.New("workers.queue and workers.jobs must be at least 1")
	case c.QueueWait < 100*time.Millisecond:
		return fmt.Errorf("workers.queue_wait is %s; it must be at least 100ms: a worker needs time to take a request", c.QueueWait)
	case c.Runs < 1 || c.Runs > 10:
		return fmt.Errorf("workers.runs is %d; it must be from 1 (no other worker tries) to 10", c.Runs)
	}
	return nil
}
