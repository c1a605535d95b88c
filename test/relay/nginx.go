package relay

import (
	"fmt"
	"os/exec"
	"testing"

	"weir/internal/peer"
)

// The lines of nginx's configuration that name a behaviour.
const (
	// NginxDefault is proxy_pass alone: HTTP/1.0 to the upstream, and buffers
	// of about 4 KiB that are handed on when full.
	NginxDefault = ""
	// NginxUnbuffered hands on what it reads.
	NginxUnbuffered = "proxy_buffering off;"
	// NginxGzip compresses event streams as a whole: the compressor hands out
	// its first bytes when its own buffer is full, or at the end.
	NginxGzip = "proxy_http_version 1.1; gzip on; gzip_types text/event-stream; gzip_proxied any; gzip_min_length 0;"
)

// Nginx starts nginx in front of the upstream's URL with further lines of the
// location block, and returns its own URL.
func Nginx(t testing.TB, upstream, lines string) string {
	t.Helper()
	host := hostOf(t, upstream)
	return NginxHTTP(t, func(addr string) string {
		return fmt.Sprintf(`	server {
		listen %[1]s;
		location / {
			proxy_pass http://%[2]s;
			%[3]s
		}
	}`, addr, host, lines)
	})
}

// NginxHTTP starts nginx with lines of the http block, made for the address it
// is to listen on, and returns its URL.
func NginxHTTP(t testing.TB, lines func(addr string) string) string {
	t.Helper()
	bin := peer.Program(t, "nginx")
	config := func(dir, addr string) string {
		return fmt.Sprintf(`daemon off;
master_process off; # one process: ending it leaves none behind
pid %[1]s/nginx.pid;
error_log stderr warn;
events {}
http {
	access_log off;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
%[2]s
}
`, dir, lines(addr))
	}
	return start(t, config, func(dir, file string) *exec.Cmd {
		return exec.Command(bin, "-p", dir, "-c", file) //nolint:noctx // lives as long as the test, which kills it
	})
}
