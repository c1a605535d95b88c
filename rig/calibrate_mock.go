package rig

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// truthMock is the mock in a process of its own, writing its truth log.
type truthMock struct {
	cmd   *exec.Cmd
	stdin io.Closer // the mock ends when it closes, also when this process dies
	url   string
	dir   string
	ended bool
}

// startTruth starts the "mock" subcommand of program ("" = this one).
func startTruth(ctx context.Context, program string) (*truthMock, error) {
	if program == "" {
		own, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("this program does not know its own file: %w", err)
		}
		program = own
	}
	dir, err := os.MkdirTemp("", "weir-calibrate-")
	if err != nil {
		return nil, fmt.Errorf("no place for the truth log: %w", err)
	}
	m := &truthMock{dir: dir}
	if err := m.start(ctx, program); err != nil {
		m.kill()
		return nil, fmt.Errorf("the mock did not start: %w", err)
	}
	return m, nil
}

func (m *truthMock) start(ctx context.Context, program string) error {
	m.cmd = exec.CommandContext(ctx, program, "mock", "--listen", "127.0.0.1:0", "--truth", m.truthFile(), "--until-eof")
	m.cmd.Stderr = os.Stderr
	// The mock keeps to half of the processors: a server that took the cores of
	// its client would measure the scheduler.
	m.cmd.Env = append(os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", max(1, runtime.NumCPU()/2)))
	stdin, err := m.cmd.StdinPipe()
	if err != nil {
		return err
	}
	m.stdin = stdin
	stdout, err := m.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := m.cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			m.url = url
			go func() { _, _ = io.Copy(io.Discard, stdout) }() // ends with the process
			return nil
		}
	}
	return errors.New("it ended without saying where it listens")
}

func (m *truthMock) truthFile() string { return filepath.Join(m.dir, "truth.jsonl") }

// end lets the mock complete its truth log and reads it.
func (m *truthMock) end() (map[string][]truthLine, error) {
	m.ended = true
	if err := errors.Join(m.stdin.Close(), m.cmd.Wait()); err != nil {
		return nil, fmt.Errorf("the mock did not end well, its truth log may be incomplete: %w", err)
	}
	f, err := os.Open(m.truthFile())
	if err != nil {
		return nil, fmt.Errorf("the truth log: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read: closing can lose nothing
	return readTruth(f)
}

// kill ends what still runs and removes the truth log.
func (m *truthMock) kill() {
	if m.cmd != nil && m.cmd.Process != nil && !m.ended {
		_ = m.stdin.Close()
		stop := time.AfterFunc(5*time.Second, func() { _ = m.cmd.Process.Kill() })
		_ = m.cmd.Wait()
		stop.Stop()
	}
	_ = os.RemoveAll(m.dir) // a temporary folder; nothing depends on it
}

// truthLine is one line of the mock's truth log.
type truthLine struct {
	RequestID string `json:"request_id"`
	Kind      string `json:"kind"`
	Before    int64  `json:"before_unix_ns"`
	After     int64  `json:"after_unix_ns"`
}

// readTruth groups the truth by request, in the order written.
func readTruth(r io.Reader) (map[string][]truthLine, error) {
	out := map[string][]truthLine{}
	in := bufio.NewScanner(r)
	for n := 1; in.Scan(); n++ {
		var l truthLine
		if err := json.Unmarshal(bytes.TrimSpace(in.Bytes()), &l); err != nil {
			return nil, fmt.Errorf("truth log line %d: %w", n, err)
		}
		out[l.RequestID] = append(out[l.RequestID], l)
	}
	return out, in.Err()
}
