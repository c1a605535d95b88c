package chaos

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// process is a program that is killed, stopped and started again, always with
// the same arguments. It belongs to the test's goroutine.
type process struct {
	t      testing.TB
	name   string
	argv   []string
	log    string
	admin  string // host:port of its admin listener; "" = none
	cmd    *exec.Cmd
	ended  chan struct{}
	frozen bool
	base   vitals // when it had nothing to do
}

func (w *world) process(name, admin string, argv ...string) *process {
	p := &process{t: w.t, name: name, argv: argv, admin: admin, log: filepath.Join(w.dir, name+".log")}
	w.t.Cleanup(p.kill)
	p.start()
	return p
}

// start starts it, unless it runs.
func (p *process) start() {
	p.t.Helper()
	if p.cmd != nil {
		return
	}
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	defer out.Close()
	fmt.Fprintf(out, "--- %s started\n", time.Now().Format(clock))
	cmd := exec.Command(p.argv[0], p.argv[1:]...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.cmd, p.ended = cmd, make(chan struct{})
	go func(ended chan struct{}) {
		_ = cmd.Wait() // it was killed, or says why in its log
		close(ended)
	}(p.ended)
}

// kill ends it with SIGKILL, stopped or not.
func (p *process) kill() {
	if p.cmd != nil {
		_ = p.cmd.Process.Kill() // it may have ended by itself
		<-p.ended
		p.cmd, p.frozen = nil, false
	}
}

func (p *process) signal(s syscall.Signal) {
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(s) // it may have ended by itself
	}
	switch s {
	case syscall.SIGSTOP:
		p.frozen = true
	case syscall.SIGCONT:
		p.frozen = false
	}
}

// restore lets it run again, whatever was done to it.
func (p *process) restore() {
	if p.frozen {
		p.signal(syscall.SIGCONT)
	}
	if p.cmd != nil {
		select {
		case <-p.ended:
			p.cmd = nil
		default:
		}
	}
	p.start()
}

// vitals are what of a process grows where it leaks.
type vitals struct{ goroutines, descriptors int }

// vitals reads them; ok is false where it does not answer. Connections to the
// service do not count: a pool keeps them for 90 s.
func (p *process) vitals() (v vitals, ok bool) {
	body, status := fetch("http://" + p.admin + "/metrics")
	if v.goroutines = sample(body, "go_goroutines"); status != http.StatusOK || v.goroutines == 0 || p.cmd == nil {
		return v, false
	}
	proc := fmt.Sprintf("/proc/%d/", p.cmd.Process.Pid)
	kept := kept(proc + "net/tcp")
	all, err := os.ReadDir(proc + "fd")
	for _, f := range all {
		if to, err := os.Readlink(proc + "fd/" + f.Name()); err == nil && !kept[to] {
			v.descriptors++
		}
	}
	return v, err == nil
}

// kept are the sockets that lead to the service.
func kept(table string) map[string]bool {
	const remote, inode = 2, 9
	to := fmt.Sprintf(":%04X", servicePort)
	list := map[string]bool{}
	text, err := os.ReadFile(table)
	if err != nil {
		return list
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > inode && strings.HasSuffix(f[remote], to) {
			list["socket:["+f[inode]+"]"] = true
		}
	}
	return list
}

// servicePort is where the service listens, at an address of its own.
const servicePort = 9000

func (p *process) ready() bool {
	_, status := fetch("http://" + p.admin + "/readyz")
	return status == http.StatusOK
}

// fetch is what a GET says; status 0: nothing.
func fetch(url string) (body string, status int) {
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", 0
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", 0
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", 0
	}
	return string(b), resp.StatusCode
}

// sample is a metric without labels; 0 where it is not there.
func sample(metrics, name string) int {
	for line := range strings.Lines(metrics) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			f, _ := strconv.ParseFloat(strings.TrimSpace(rest), 64) // what is no number is not there
			return int(f)
		}
	}
	return 0
}

// await waits for a condition.
func await(most time.Duration, what func() bool) bool {
	for end := time.Now().Add(most); !what(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}
