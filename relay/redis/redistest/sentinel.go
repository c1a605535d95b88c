package redistest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/internal/peer"
)

// Watched is a master and its replica, which sentinels watch.
type Watched struct {
	Master, Replica *Server
	sentinels       []*Server
	t               testing.TB
}

const watchedName = "weir-master"

// StartWatched starts a master, a replica that has all of it, and so many
// sentinels, of which most have to agree.
func StartWatched(t testing.TB, sentinels int) *Watched {
	t.Helper()
	g := &Watched{t: t, Master: Start(t, "--repl-diskless-sync-delay", "0")}
	g.Replica = Start(t, "--repl-diskless-sync-delay", "0", "--replicaof", "127.0.0.1 "+g.Master.portText())
	await(t, "the replica follows", func() bool { return strings.Contains(g.Replica.Do("INFO replication"), "master_link_status:up") })
	for range sentinels {
		g.sentinels = append(g.sentinels, startSentinel(t, g.Master, sentinels/2+1))
	}
	for _, s := range g.sentinels {
		await(t, "a sentinel knows the replica and the others", func() bool {
			info := s.Do("INFO sentinel")
			return strings.Contains(info, fmt.Sprintf("status=ok,address=%s,slaves=1,sentinels=%d", g.Master.Addr(), sentinels))
		})
	}
	return g
}

func startSentinel(t testing.TB, master *Server, quorum int) *Server {
	t.Helper()
	s := &Server{t: t, program: peer.Program(t, "redis-server"), port: freePort(t), dir: t.TempDir()}
	s.conf = filepath.Join(s.dir, "sentinel.conf")
	conf := fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %s\nsentinel monitor %[3]s 127.0.0.1 %[4]d %[5]d\n"+
		"sentinel down-after-milliseconds %[3]s 1000\nsentinel failover-timeout %[3]s 20000\n", s.port, s.dir, watchedName, master.port, quorum)
	if err := os.WriteFile(s.conf, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	s.Run()
	return s
}

// URL is of the sentinels, which say who is master.
func (g *Watched) URL() string {
	var hosts []string
	for _, s := range g.sentinels {
		hosts = append(hosts, s.Addr())
	}
	return "redis+sentinel://" + strings.Join(hosts, ",") + "/" + watchedName
}

// Sync waits until the replica has all that the master has.
func (g *Watched) Sync() {
	g.t.Helper()
	most := offset(g.Master, "master_repl_offset:")
	await(g.t, "the replica has caught up", func() bool { return offset(g.Replica, "slave_repl_offset:") >= most })
}

func offset(s *Server, field string) int64 {
	_, rest, _ := strings.Cut(s.Do("INFO replication"), field)
	text, _, _ := strings.Cut(rest, "\r\n")
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		s.t.Errorf("%s of %s: %v", field, s.Addr(), err)
	}
	return n
}

// Detach has the replica get nothing more of what the master takes: what is
// written from now on is lost with the master.
func (g *Watched) Detach() {
	g.t.Helper()
	g.Replica.Do("CONFIG SET masterauth none-is-asked-for") // which the master refuses
	g.Master.Do("CLIENT KILL TYPE replica")
	await(g.t, "the replica is cut off", func() bool { return strings.Contains(g.Replica.Do("INFO replication"), "master_link_status:down") })
}

// Promote waits until the replica is the master, which the sentinels see to
// when the other is gone, or are told to.
func (g *Watched) Promote() {
	g.t.Helper()
	await(g.t, "the replica is the master, and the sentinels say so", func() bool {
		if !strings.Contains(g.Replica.Do("INFO replication"), "role:master") {
			return false
		}
		for _, s := range g.sentinels {
			if !strings.Contains(s.Do("SENTINEL get-master-addr-by-name "+watchedName), g.Replica.portText()) {
				return false
			}
		}
		return true
	})
}

// Failover has a sentinel make the replica the master while the other lives.
func (g *Watched) Failover() {
	g.t.Helper()
	await(g.t, "a sentinel begins a failover", func() bool {
		return strings.HasPrefix(g.sentinels[0].Do("SENTINEL failover "+watchedName), "+OK")
	})
	g.Promote()
}

func await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never came to pass: %s", what)
		}
	}
}
