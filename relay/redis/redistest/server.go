// Package redistest starts a real Redis for a test: on a free port of the
// loopback, with a directory of its own, killed at the test's end. Where several
// belong together, as a master under sentinels or a cluster, so do these.
//
// It refuses to imitate: without redis-server the test is skipped, or fails
// where peers are required.
package redistest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/internal/peer"
)

// Server is one redis-server.
type Server struct {
	t       testing.TB
	program string
	port    int
	bus     int // of a cluster's node: where the others talk to it
	dir     string
	args    []string
	conf    string // of a sentinel, which writes there what it learns; "" = it is none
	env     []string
	cmd     *exec.Cmd
}

// Start starts a server; args are further options of its command line. It keeps
// nothing on disk unless they say so.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	return StartEnv(t, nil, args...)
}

// StartEnv is Start with more in the server's environment, such as NAME=value.
func StartEnv(t testing.TB, env []string, args ...string) *Server {
	t.Helper()
	s := &Server{t: t, program: peer.Program(t, "redis-server"), port: freePort(t), dir: t.TempDir(), args: args, env: env}
	t.Cleanup(s.Kill)
	s.Run()
	return s
}

func freePort(t testing.TB) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

// Addr is host:port.
func (s *Server) Addr() string { return "127.0.0.1:" + s.portText() }

func (s *Server) portText() string { return strconv.Itoa(s.port) }

// URL is the server's, of database 0.
func (s *Server) URL() string { return "redis://" + s.Addr() + "/0" }

// Run runs the server, again after Kill, and waits until it answers.
func (s *Server) Run() {
	s.t.Helper()
	args := append([]string{"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--dir", s.dir,
		"--save", "", "--appendonly", "no"}, s.args...)
	if s.conf != "" {
		args = []string{s.conf, "--sentinel"}
	}
	s.cmd = exec.Command(s.program, args...) //nolint:noctx // it outlives calls; Kill ends it
	s.cmd.Env = append(os.Environ(), s.env...)
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	deadline := time.Now().Add(30 * time.Second)
	for {
		if out, err := s.try("PING"); err == nil && strings.HasPrefix(out, "+PONG") {
			return
		} else if time.Now().After(deadline) {
			s.t.Fatalf("redis-server on %s does not answer: %q, %v", s.Addr(), out, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Kill ends the server with SIGKILL, stopped or not.
func (s *Server) Kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

// Restart kills the server and runs it again, empty.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	s.Run()
}

// Do sends one inline command and gives the beginning of the raw answer.
func (s *Server) Do(command string) string {
	s.t.Helper()
	out, err := s.try(command)
	for began := time.Now(); err != nil && strings.HasPrefix(command, "INFO") && time.Since(began) < 10*time.Second; {
		time.Sleep(50 * time.Millisecond) // a server that changes sides cuts its connections
		out, err = s.try(command)
	}
	if err != nil {
		s.t.Fatalf("redis %s: %v", command, err)
	}
	return out
}

func (s *Server) try(command string) (string, error) {
	c, err := net.DialTimeout("tcp", s.Addr(), time.Second) //nolint:noctx // it has a limit
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := fmt.Fprintf(c, "%s\r\n", command); err != nil {
		return "", err
	}
	buf := make([]byte, 64<<10)
	n, err := c.Read(buf)
	return string(buf[:n]), err
}
