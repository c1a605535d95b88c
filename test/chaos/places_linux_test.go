package chaos

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"weir/internal/peer"
)

// skewed gives Redis a clock that is five hours ahead of everybody else's. It is
// the only clock of day that others are compared with: its expiry, its ids of the
// queue. A program of Go asks the kernel itself and cannot be told another time.
func skewed(w *world) []string {
	lib := filepath.Join(w.dir, "skew.so")
	out, err := exec.Command(peer.Program(w.t, "cc"), "-shared", "-fPIC", "-O2", "-o", lib, "testdata/skew.c").CombinedOutput()
	if err != nil {
		w.t.Fatalf("cc: %s", out)
	}
	return []string{"LD_PRELOAD=" + lib, "SKEW=18000"}
}

// skew starts one more of each in a time namespace, where the monotonic clock is
// weeks ahead.
func skew(w *world) {
	if os.Geteuid() != 0 {
		peer.Missing(w.t, "the right to make a time namespace", "run the test as root")
	}
	if !w.redisAhead() {
		w.t.Fatal("redis has the time of everybody else")
	}
	wrap := []string{peer.Program(w.t, "unshare"), "-T", "--monotonic", "2000000", "--boottime", "2000000"}
	if err := exec.Command(wrap[0], append(wrap[1:], "true")...).Run(); err != nil {
		peer.Missing(w.t, "a kernel with time namespaces", "run the test on one: "+err.Error())
	}
	if len(w.workers) == 0 {
		w.front("all", wrap...)
		return
	}
	w.front("edge", wrap...)
	w.worker(wrap...)
}

// redisAhead reports whether Redis' clock is hours ahead.
func (w *world) redisAhead() bool {
	var seconds int64
	_, err := fmt.Sscanf(w.redis.Do("TIME"), "*2\r\n$10\r\n%d", &seconds)
	return err == nil && time.Until(time.Unix(seconds, 0)) > 4*time.Hour
}

// cable is a pair of interfaces: one here, one in a namespace.
type cable struct{ name, here, there, net string }

// networks lays two cables to a network namespace: one for clients and the
// service, one for Redis alone. The addresses are of those that RFC 2544 keeps
// for tests.
func networks(w *world) {
	if os.Geteuid() != 0 {
		peer.Missing(w.t, "the right to make a network namespace", "run the test as root")
	}
	peer.Program(w.t, "ip")
	n := int(addresses.Add(1))
	a, b := os.Getpid()%250, n%60
	ns := fmt.Sprintf("weir%d-%d", os.Getpid(), n)
	if out, err := ip("netns", "add", ns); err != nil {
		peer.Missing(w.t, "a network namespace", "run the test where one can be made: "+out)
	}
	w.t.Cleanup(func() { _, _ = ip("netns", "del", ns) }) // with it go the cables
	w.space = ns
	w.cables = nil
	for i, what := range []string{"c", "r"} {
		c := cable{name: fmt.Sprintf("wr%d%s%d", os.Getpid()%10000, what, n),
			here: fmt.Sprintf("198.%d.%d.%d", 18+i, a, 4*b+1), there: fmt.Sprintf("198.%d.%d.%d", 18+i, a, 4*b+2),
			net: fmt.Sprintf("198.%d.%d.%d/30", 18+i, a, 4*b)}
		w.lay(c)
		w.cables = append(w.cables, c)
	}
	w.must("netns", "exec", ns, "ip", "link", "set", "lo", "up")
	w.host = w.cables[0].here
	w.redis.Do(fmt.Sprintf("CONFIG SET bind \"127.0.0.1 %s\"", w.cables[1].here))
}

func (w *world) lay(c cable) {
	w.t.Helper()
	w.must("link", "add", c.name, "type", "veth", "peer", "name", c.name+"x", "netns", w.space)
	w.must("addr", "add", c.here+"/30", "dev", c.name)
	w.must("link", "set", c.name, "up")
	w.must("route", "add", "blackhole", c.net, "metric", "9999") // while the cable is cut nothing may take another way
	w.t.Cleanup(func() { _, _ = ip("route", "del", "blackhole", c.net, "metric", "9999") })
	w.must("netns", "exec", w.space, "ip", "addr", "add", c.there+"/30", "dev", c.name+"x")
	w.must("netns", "exec", w.space, "ip", "link", "set", c.name+"x", "up")
}

func ip(args ...string) (string, error) {
	out, err := exec.Command("ip", args...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (w *world) must(args ...string) {
	w.t.Helper()
	if out, err := ip(args...); err != nil {
		w.t.Fatalf("ip %s: %s %v", strings.Join(args, " "), out, err)
	}
}

// partitioned starts one gateway or edge here and one in the namespace.
func partitioned(w *world) {
	role := "all"
	if len(w.workers) > 0 {
		role = "edge"
	}
	w.front(role)
	_, port, err := net.SplitHostPort(w.redis.Addr())
	if err != nil {
		w.t.Fatal(err)
	}
	w.frontAt(role, w.cables[0].there, "redis://"+net.JoinHostPort(w.cables[1].here, port)+"/0",
		"ip", "netns", "exec", w.space)
}

// partition takes Redis from the one in the namespace, without a word: packets
// vanish. For a moment it loses the service and the clients too.
func partition(w *world, rng *rand.Rand) []action {
	at := 1500*time.Millisecond + time.Duration(rng.Int64N(int64(time.Second)))
	down := 2*time.Second + time.Duration(rng.Int64N(int64(3*time.Second)))
	short := 300*time.Millisecond + time.Duration(rng.Int64N(int64(1200*time.Millisecond)))
	redis := func(how string) func() { return func() { w.must("link", "set", w.cables[1].name, how) } }
	all := func(how string) func() { // from its side, so that who calls it hears nothing
		return func() { w.must("netns", "exec", w.space, "ip", "link", "set", w.cables[0].name+"x", how) }
	}
	return []action{
		{at, "redis cannot be reached by " + w.fronts[1].name, redis("down")},
		{at + down, "redis can be reached again", redis("up")},
		{at + down + 500*time.Millisecond, w.fronts[1].name + " is cut off", all("down")},
		{at + down + 500*time.Millisecond + short, w.fronts[1].name + " is there again", all("up")},
	}
}
