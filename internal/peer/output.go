package peer

import (
	"strings"
	"sync"
)

// Output keeps what a process or a logger writes, while another goroutine may
// ask. The zero value is empty.
type Output struct {
	mu sync.Mutex
	b  strings.Builder
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

// String is all that was written so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}
