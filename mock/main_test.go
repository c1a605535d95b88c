package mock

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"weir/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a mock on loopback for the test.
func serve(t *testing.T, o Options) *Server {
	t.Helper()
	s, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// answer is what a client saw of one response.
type answer struct {
	status int
	header http.Header
	proto  string
	body   []byte
	frames []wire.Frame    // copies
	at     []time.Duration // of each read, since the request
	reads  []int           // bytes of each read
	err    error           // how the body ended, other than EOF
}

// client makes a client of its own whose connections end with the test.
func client(t *testing.T, tr *http.Transport) *http.Client {
	tr.DisableCompression = true
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: 30 * time.Second}
}

// ask posts body (a streamed question where empty) and reads to the end.
func askMock(t *testing.T, c *http.Client, url, body string, header ...string) answer {
	t.Helper()
	if body == "" {
		body = `{"stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"two words"}]}`
	}
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	began := time.Now()
	resp, err := c.Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	a := answer{status: resp.StatusCode, header: resp.Header, proto: resp.Proto}
	buf := make([]byte, 64<<10)
	for {
		n, err := resp.Body.Read(buf)
		if n > 0 {
			a.body = append(a.body, buf[:n]...)
			a.at, a.reads = append(a.at, time.Since(began)), append(a.reads, n)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			a.err = err
			break
		}
	}
	a.frames = framesOf(t, resp.Header.Get("Content-Type"), a.body)
	return a
}

func framesOf(t *testing.T, contentType string, body []byte) []wire.Frame {
	t.Helper()
	d, err := wire.New(wire.Sniff(contentType, body), wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out []wire.Frame
	keep := func(f wire.Frame) {
		f.Event, f.Data, f.Raw = bytes.Clone(f.Event), bytes.Clone(f.Data), bytes.Clone(f.Raw)
		out = append(out, f)
	}
	if err := d.Feed(body, keep); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(keep); err != nil {
		t.Fatal(err)
	}
	return out
}

// count counts the frames whose data holds s.
func (a answer) count(s string) (n int) {
	for _, f := range a.frames {
		if strings.Contains(string(f.Data), s) {
			n++
		}
	}
	return n
}

// index is the place of the first frame whose data holds s, or -1.
func (a answer) index(s string) int {
	for i, f := range a.frames {
		if strings.Contains(string(f.Data), s) {
			return i
		}
	}
	return -1
}

func (a answer) kinds(k wire.Kind) (n int) {
	for _, f := range a.frames {
		if f.Kind == k {
			n++
		}
	}
	return n
}

func (a answer) last() time.Duration {
	if len(a.at) == 0 {
		return 0
	}
	return a.at[len(a.at)-1]
}
