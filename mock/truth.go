package mock

import (
	"io"
	"strconv"
	"sync"
	"time"

	"weir/stream"
)

// truthEvery is how often the truth log leaves memory, and truthLimit the
// bytes at which a writer must wait for it.
const (
	truthEvery = 100 * time.Millisecond
	truthLimit = 64 << 20
)

// truthLog writes when each event left: a JSON line per event
// {request_id,event_seq,kind,bytes,before_unix_ns,after_unix_ns}. Adding a
// line costs an append under a lock; a goroutine does the writing.
type truthLog struct {
	to   io.Writer
	mu   sync.Mutex
	buf  []byte
	free []byte
	err  error // first write error; the log is then incomplete
	stop chan struct{}
	done chan struct{}
}

func newTruthLog(to io.Writer) *truthLog {
	t := &truthLog{to: to, stop: make(chan struct{}), done: make(chan struct{})}
	go t.run()
	return t
}

func (t *truthLog) run() {
	defer close(t.done)
	tick := time.NewTicker(truthEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			t.flush()
		case <-t.stop:
			t.flush()
			return
		}
	}
}

func (t *truthLog) flush() {
	t.mu.Lock()
	out := t.buf
	t.buf = t.free[:0]
	t.mu.Unlock()
	_, err := t.to.Write(out)
	t.mu.Lock()
	t.free = out
	if t.err == nil {
		t.err = err
	}
	t.mu.Unlock()
}

// add logs one event. id is already quoted as JSON.
func (t *truthLog) add(id []byte, seq int, kind stream.Kind, bytes int, before, after int64) {
	t.mu.Lock()
	for len(t.buf) > truthLimit && t.err == nil {
		t.mu.Unlock()
		time.Sleep(time.Millisecond)
		t.mu.Lock()
	}
	b := append(append(t.buf, `{"request_id":`...), id...)
	b = strconv.AppendInt(append(b, `,"event_seq":`...), int64(seq), 10)
	b = append(append(append(b, `,"kind":"`...), kind.String()...), '"')
	b = strconv.AppendInt(append(b, `,"bytes":`...), int64(bytes), 10)
	b = strconv.AppendInt(append(b, `,"before_unix_ns":`...), before, 10)
	b = strconv.AppendInt(append(b, `,"after_unix_ns":`...), after, 10)
	t.buf = append(b, "}\n"...)
	t.mu.Unlock()
}

// close writes what is left and returns the first write error.
func (t *truthLog) close() error {
	close(t.stop)
	<-t.done
	return t.err
}
