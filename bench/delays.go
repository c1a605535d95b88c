package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// eventKey names an event of a request on both sides.
type eventKey struct {
	request string
	seq     int
}

// readPassage joins the mock's truth with the client's event log.
func readPassage(truth, events string) (p passage, err error) {
	written := map[eventKey]int64{} // when, in ns of the Unix clock
	err = eachLine(truth, func(line []byte) error {
		var l struct {
			RequestID string `json:"request_id"`
			EventSeq  int    `json:"event_seq"`
			Before    int64  `json:"before_unix_ns"`
		}
		err := json.Unmarshal(line, &l)
		written[eventKey{l.RequestID, l.EventSeq}] = l.Before
		return err
	})
	if err != nil {
		return p, fmt.Errorf("the mock's truth: %w", err)
	}
	p.events = len(written)
	err = filepath.WalkDir(events, func(file string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".jsonl") {
			return err
		}
		return p.addLog(file, written)
	})
	p.lost = len(written)
	if err == nil && len(p.delays) == 0 {
		err = fmt.Errorf("no event of the client's log is in the mock's truth")
	}
	return p, err
}

// logLine is what is read of a line of the event log.
type logLine struct {
	RequestID string    `json:"request_id"`
	EventSeq  int       `json:"event_seq"`
	EventType string    `json:"event_type"`
	Start     time.Time `json:"start"`
	At        float64   `json:"client_time_ms"`
	Outcome   string    `json:"outcome"`
}

// addLog takes the events of one log and strikes them off written.
func (p *passage) addLog(file string, written map[eventKey]int64) error {
	starts := map[string]int64{}
	return eachLine(file, func(line []byte) error {
		var l logLine
		if err := json.Unmarshal(line, &l); err != nil {
			return err
		}
		switch l.EventType {
		case "request":
			starts[l.RequestID] = l.Start.UnixNano()
			return nil
		case "end":
			if l.Outcome != "complete" {
				p.streams++
			}
			return nil
		}
		key := eventKey{l.RequestID, l.EventSeq}
		at, ok := written[key]
		if !ok {
			return nil // a heartbeat of a relay, or the sentinel of another
		}
		delete(written, key)
		if l.EventSeq == 1 {
			p.first = append(p.first, l.At)
		}
		if l.EventType == "business" {
			p.delays = append(p.delays, float64(starts[l.RequestID]-at)/1e6+l.At)
		}
		return nil
	})
}

func eachLine(file string, f func(line []byte) error) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read: closing can lose nothing
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	for n := 1; lines.Scan(); n++ {
		if err := f(lines.Bytes()); err != nil {
			return fmt.Errorf("%s:%d: %w", filepath.Base(file), n, err)
		}
	}
	return lines.Err()
}
