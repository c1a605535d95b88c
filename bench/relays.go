package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// way is how requests reach the service: straight, or through a relay.
type way struct {
	name  string
	start func(ctx context.Context, weir, dir, upstream string) (*process, error) // nil: straight
}

var ways = []way{
	{"direct", nil},
	{"nginx, buffering off", startNginx},
	{"HAProxy, http-no-delay", startHAProxy},
	{"Caddy, flush_interval -1", startCaddy},
	{"Go ReverseProxy", startReverseProxy},
	{"weir", startWeir("{}")},
	{"weir, resume on", startWeir("{enabled: true}")},
	{"weir, resume in Redis", startWeirRedis},
	{"weir edge + worker", startEdgeAndWorker},
}

var errNotInstalled = errors.New("not installed")

// process is a server that runs until it is stopped.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	url   string
	over  bool
	parts []*process // more of the same relay: their work and memory are its own
	aside []*process // what it leans on
}

// startMock starts the service. It keeps to half of the processors: one that
// took the cores of relay and client would measure the scheduler.
func startMock(ctx context.Context, weir, truth string) (*process, error) {
	cmd := exec.CommandContext(ctx, weir, "mock", "--listen", "127.0.0.1:0", "--truth", truth, "--until-eof")
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	return listening(cmd)
}

func startWeir(resume string) func(ctx context.Context, weir, dir, upstream string) (*process, error) {
	return func(ctx context.Context, weir, dir, upstream string) (*process, error) {
		config := fmt.Sprintf("listen: 127.0.0.1:0\nlimits: {streams: 0}\nlog: {dir: \"\", store: \"\"}\nupstreams: {main: {urls: [%q]}}\nroutes: [{path: \"/*\", upstream: main, resume: %s}]\n", upstream, resume)
		file := filepath.Join(dir, "gateway.yaml")
		if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
			return nil, err
		}
		return listening(exec.CommandContext(ctx, weir, "gateway", file))
	}
}

// startReverseProxy runs this program as the relay that Go brings.
func startReverseProxy(ctx context.Context, _, _, upstream string) (*process, error) {
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return listening(exec.CommandContext(ctx, own, "-reverse-proxy", upstream))
}

// reverseProxy serves until the process is ended.
func reverseProxy(upstream string) error {
	u, err := url.Parse(upstream)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s\n", l.Addr())
	p := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(u) }, FlushInterval: -1}
	return (&http.Server{Handler: p, ReadHeaderTimeout: time.Minute}).Serve(l)
}

func startNginx(ctx context.Context, _, dir, upstream string) (*process, error) {
	return configured(ctx, "nginx", dir, func(addr string) string {
		return fmt.Sprintf(`daemon off;
master_process off; # one process: its CPU time is all there is
pid %[1]s/nginx.pid;
error_log stderr warn;
events { worker_connections 32768; }
http {
	access_log off;
	client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
	upstream service { server %[3]s; keepalive 512; }
	server {
		listen %[2]s;
		location / {
			proxy_pass http://service;
			proxy_http_version 1.1;
			proxy_set_header Connection "";
			proxy_buffering off;
		}
	}
}
`, dir, addr, strings.TrimPrefix(upstream, "http://"))
	}, "-p", dir, "-c")
}

func startHAProxy(ctx context.Context, _, dir, upstream string) (*process, error) {
	return configured(ctx, "haproxy", dir, func(addr string) string {
		return fmt.Sprintf(`defaults
	mode http
	timeout connect 5s
	timeout client 1h
	timeout server 1h
	option http-no-delay
	http-reuse always
frontend in
	bind %s
	default_backend out
backend out
	server one %s
`, addr, strings.TrimPrefix(upstream, "http://"))
	}, "-db", "-f")
}

func startCaddy(ctx context.Context, _, dir, upstream string) (*process, error) {
	return configured(ctx, "caddy", dir, func(addr string) string {
		return fmt.Sprintf(`{
	admin off
	auto_https off
	log {
		level ERROR
	}
}
http://%[1]s {
	bind 127.0.0.1
	reverse_proxy %[2]s {
		flush_interval -1
	}
}
`, addr, strings.TrimPrefix(upstream, "http://"))
	}, "run", "--adapter", "caddyfile", "--config")
}

// configured starts a program on a configuration file for a free address, and
// waits until it accepts connections there.
func configured(ctx context.Context, name, dir string, config func(addr string) string, flags ...string) (*process, error) {
	program, err := lookup(name)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := l.Addr().String()
	_ = l.Close()
	file := filepath.Join(dir, name+".conf")
	if err := os.WriteFile(file, []byte(config(addr)), 0o600); err != nil {
		return nil, err
	}
	p := &process{cmd: exec.CommandContext(ctx, program, append(flags, file)...), url: "http://" + addr}
	p.cmd.Stderr = os.Stderr
	p.cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir) // Caddy keeps what it was told
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	for range 500 {
		var d net.Dialer
		if c, err := d.DialContext(ctx, "tcp", addr); err == nil {
			return p, c.Close()
		}
		time.Sleep(10 * time.Millisecond)
	}
	p.stop()
	return nil, fmt.Errorf("%s accepts no connections on %s", name, addr)
}

// lookup finds a program also where Debian keeps servers.
func lookup(name string) (string, error) {
	for _, file := range []string{name, "/usr/sbin/" + name, "/usr/local/sbin/" + name} {
		if p, err := exec.LookPath(file); err == nil {
			return p, nil
		}
	}
	return "", errNotInstalled
}

// listening starts a program that says where it listens.
func listening(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd}
	var err error
	if p.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if u, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			p.url = u
			go func() { _, _ = io.Copy(io.Discard, stdout) }() // ends with the process
			return p, nil
		}
	}
	p.stop()
	return nil, fmt.Errorf("%s ended without saying where it listens", filepath.Base(cmd.Path))
}

// stop ends the process: the mock by the end of its input, which completes
// its truth, the others by a signal.
func (p *process) stop() {
	if p == nil || p.over {
		return
	}
	p.over = true
	for _, other := range append(p.parts, p.aside...) {
		defer other.stop()
	}
	if p.stdin != nil {
		_ = p.stdin.Close()
	}
	if len(p.cmd.Args) < 2 || p.cmd.Args[1] != "mock" {
		_ = p.cmd.Process.Kill()
	}
	_ = p.cmd.Wait() // killed: an error is what is expected
}

// cpu is the processor time the process took so far; not known where there is
// no /proc.
func (p *process) cpu() (time.Duration, bool) {
	if p == nil {
		return 0, false
	}
	var parts time.Duration
	for _, part := range p.parts {
		d, _ := part.cpu()
		parts += d
	}
	own, ok := cpuOf(strconv.Itoa(p.cmd.Process.Pid))
	return parts + own, ok
}

// cpuOf is the processor time of a process by its number, or "self".
func cpuOf(process string) (time.Duration, bool) {
	_, stat, ok := strings.Cut(read("/proc/"+process+"/stat"), ") ")
	f := strings.Fields(stat)
	if !ok || len(f) < 13 {
		return 0, false
	}
	user, err1 := strconv.ParseInt(f[11], 10, 64)
	system, err2 := strconv.ParseInt(f[12], 10, 64)
	return time.Duration(user+system) * (time.Second / clockTicks), err1 == nil && err2 == nil
}

// spent is what was used since before; 0 where it is not known.
func spent(cpu func() (time.Duration, bool), before time.Duration) time.Duration {
	now, ok := cpu()
	if !ok {
		return 0
	}
	return now - before
}

// clockTicks is USER_HZ, which Linux has fixed for programs.
const clockTicks = 100

func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return -1
}
