package redis

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/relay"
	"weir/relay/redis/redistest"
)

func TestParseURL(t *testing.T) {
	for url, want := range map[string]string{
		"redis://h":                           "redis://h:6379/0",
		"redis://h:1/3":                       "redis://h:1/3",
		"rediss://[::1]":                      "rediss://[::1]:6379/0",
		"redis://u:sec%40ret@h/1":             "redis://h:6379/1",
		"redis+sentinel://:secret@a,b:1/m/2":  "redis+sentinel://a:26379,b:1/m/2",
		"rediss+cluster://u:secret@a:1,b:2,c": "rediss+cluster://a:1,b:2,c:6379",
		"redis://u:se@cret@h":                 "redis://h:6379/0",
	} {
		a, err := ParseURL(url)
		if got := fmt.Sprintf("%v", a); err != nil || got != want || strings.Contains(fmt.Sprintf("%v %+v %#v", a, a, a), "ret") {
			t.Errorf("%s: %s, %v; want %s", url, got, err, want)
		}
	}
	for _, url := range []string{"", "h:6379", "http://h", "redis+other://secret@h", "redis+://h", "redis://", "redis://secret@", "redis://h:0",
		"redis://h:99999", "redis://u:secret@h/x", "redis://a,b", "redis+sentinel://secret@h", "redis+cluster://secret@h/1", "redis://h?secret=1", "redis://%zz:secret@h"} {
		if _, err := ParseURL(url); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", url, err)
		}
	}
}

// TestPasswords: the right one works, a wrong one is told and shown nowhere.
func TestPasswords(t *testing.T) {
	s := redistest.Start(t)
	s.Do("CONFIG SET requirepass secretword")
	o := quickly(s)
	o.Password = "secretword"
	good := newInstance(t, o, relay.MemoryOptions{})
	until(t, "the password opens", good.far.holds)
	o.Password, o.URL = "", strings.Replace(s.URL(), "redis://", "redis://:hiddenword@", 1)
	bad := newInstance(t, o, relay.MemoryOptions{})
	until(t, "the wrong one is told", func() bool { return bad.log.count("redis is away") == 1 })
	if bad.log.count("hiddenword") > 0 || bad.Up() {
		t.Errorf("up: %v; the log has the password %d times", bad.Up(), bad.log.count("hiddenword"))
	}
}

// TestCluster: a stream's keys share a slot, wherever it lies.
func TestCluster(t *testing.T) {
	s := redistest.Start(t, "--cluster-enabled", "yes")
	s.Do("CLUSTER ADDSLOTSRANGE 0 16383")
	until(t, "the cluster is up", func() bool { return strings.Contains(s.Do("CLUSTER INFO"), "cluster_state:ok") })
	o := quickly(s)
	o.URL = "redis+cluster://" + s.Addr()
	a, b := newInstance(t, o, relay.MemoryOptions{}), newInstance(t, o, relay.MemoryOptions{})
	until(t, "the cluster answers", a.far.holds)
	for n := range 20 {
		stream := fmt.Sprint("s", n)
		begin(t, a, stream)
		write(t, a, stream, 1, 10, false)
		copiedTo(t, a, stream, 10)
		reader := follow(t, b, stream, relay.Position{})
		write(t, a, stream, 11, 20, true)
		(<-reader).exact(t, 1, 20)
	}
}

// BenchmarkRedis reports what a stream of 1,000 events of 160 bytes costs Redis
// per event: commands (those of the script included), bytes on the wire to it,
// and bytes of its memory; followed says whether another instance reads it.
func BenchmarkRedis(b *testing.B) {
	for _, followed := range []bool{false, true} {
		b.Run(fmt.Sprintf("followed=%v", followed), func(b *testing.B) {
			s := redistest.Start(b)
			writer, reader := newInstance(b, quickly(s), relay.MemoryOptions{}), newInstance(b, quickly(s), relay.MemoryOptions{})
			until(b, "Redis is there", writer.far.holds)
			const events = 1000
			pad := strings.Repeat("x", 130)
			s.Do("CONFIG RESETSTAT")
			b.ResetTimer()
			for n := range b.N {
				stream := fmt.Sprint("s", n)
				begin(b, writer, stream)
				var done <-chan reading
				if followed {
					copiedTo(b, writer, stream, 0)
					done = follow(b, reader, stream, relay.Position{})
				}
				for i := range int64(events) {
					_, err := writer.Append(b.Context(), stream, relay.Entry{Frame: fmt.Appendf(nil, "data: {\"n\":%d,%q}\n\n", i, pad), Terminal: i == events-1})
					if err != nil {
						b.Fatal(err)
					}
					time.Sleep(200 * time.Microsecond) // a fast model: events come one by one
				}
				copiedTo(b, writer, stream, events)
				if done != nil {
					<-done
				}
			}
			b.StopTimer()
			per := float64(b.N) * events
			b.ReportMetric(float64(commands(s))/per, "commands/event")
			b.ReportMetric(float64(field(s.Do("INFO stats"), "total_net_input_bytes:"))/per, "bytes-in/event")
			b.ReportMetric(float64(field(s.Do("INFO stats"), "total_net_output_bytes:"))/per, "bytes-out/event")
			b.ReportMetric(float64(field(s.Do("MEMORY USAGE weir:{s0}:s SAMPLES 0"), ":"))/events, "memory/event")
			b.ReportMetric(float64(writer.seen.exchanges.Load())/per, "exchanges/event")
		})
	}
}

// commands are the calls that commandstats counts, in scripts and out.
func commands(s *redistest.Server) (n int64) {
	for line := range strings.Lines(s.Do("INFO commandstats")) {
		n += field(line, "calls=")
	}
	return n
}

// field is the number after a name; 0 where there is none.
func field(s, name string) (n int64) {
	_, rest, _ := strings.Cut(s, name)
	_, _ = fmt.Sscanf(rest, "%d", &n)
	return n
}
