package redistest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"weir/internal/peer"
)

// Cluster is masters that share the slots between them, and the replicas of
// each, where there are any.
type Cluster struct {
	t       testing.TB
	Nodes   []*Server // the masters, in the order of their slots, then the replicas, in the order of their masters
	masters int
}

const slots = 16384

// StartCluster starts a cluster of so many masters, each with a replica where
// replicas is true, and waits until every node says that it works.
func StartCluster(t testing.TB, masters int, replicas bool) *Cluster {
	t.Helper()
	c := &Cluster{t: t, masters: masters}
	n := masters
	if replicas {
		n *= 2
	}
	for range n {
		c.Nodes = append(c.Nodes, startNode(t))
	}
	for i, s := range c.Nodes {
		expect(t, s, fmt.Sprint("CLUSTER SET-CONFIG-EPOCH ", i+1))
		if i < masters {
			expect(t, s, fmt.Sprintf("CLUSTER ADDSLOTSRANGE %d %d", slots*i/masters, slots*(i+1)/masters-1))
		}
		if i > 0 {
			expect(t, c.Nodes[0], fmt.Sprintf("CLUSTER MEET 127.0.0.1 %d %d", s.port, s.bus))
		}
	}
	c.settled(fmt.Sprint("cluster_known_nodes:", n))
	for i, s := range c.Nodes[masters:] {
		id := c.id(c.Nodes[i])
		await(t, "a replica knows its master", func() bool { return strings.HasPrefix(s.Do("CLUSTER REPLICATE "+id), "+OK") })
		await(t, "a replica follows", func() bool { return strings.Contains(s.Do("INFO replication"), "master_link_status:up") })
	}
	if replicas { // before the others know of it, nobody votes for it
		await(t, "everybody knows the replicas", func() bool {
			for _, s := range c.Nodes {
				if strings.Count(s.Do("CLUSTER NODES"), "slave") < masters {
					return false
				}
			}
			return true
		})
	}
	return c
}

func startNode(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t, program: peer.Program(t, "redis-server"), port: freePort(t), bus: freePort(t), dir: t.TempDir()}
	s.args = []string{"--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(s.bus), "--cluster-node-timeout", "1000",
		"--cluster-replica-validity-factor", "0", "--repl-diskless-sync-delay", "0"}
	t.Cleanup(s.Kill)
	s.Run()
	return s
}

// settled waits until every node that runs says that the cluster works, and more.
func (c *Cluster) settled(more string) {
	c.t.Helper()
	await(c.t, "the cluster works", func() bool {
		for _, s := range c.Nodes {
			if s.cmd == nil {
				continue
			}
			if info := s.Do("CLUSTER INFO"); !strings.Contains(info, "cluster_state:ok") || !strings.Contains(info, more) {
				return false
			}
		}
		return true
	})
}

// URL names two of the nodes: the client finds the others.
func (c *Cluster) URL() string {
	return "redis+cluster://" + c.Nodes[0].Addr() + "," + c.Nodes[1].Addr()
}

func (c *Cluster) id(s *Server) string {
	_, id, _ := strings.Cut(s.Do("CLUSTER MYID"), "\r\n")
	return strings.TrimSpace(id)
}

// Slot is a key's.
func (c *Cluster) Slot(key string) int {
	n, err := strconv.Atoi(strings.Trim(c.Nodes[0].Do("CLUSTER KEYSLOT "+key), ":\r\n"))
	if err != nil {
		c.t.Fatal(err)
	}
	return n
}

// Master is the number of the master that had a slot at the beginning.
func (c *Cluster) Master(slot int) int {
	for i := range c.masters {
		if slot < slots*(i+1)/c.masters {
			return i
		}
	}
	return -1
}

// KillMaster kills a master and waits until its replica has its place.
func (c *Cluster) KillMaster(i int) {
	c.t.Helper()
	replica := c.Nodes[c.masters+i]
	c.Nodes[i].Kill()
	await(c.t, "the replica is the master", func() bool { return strings.Contains(replica.Do("INFO replication"), "role:master") })
	c.settled("")
}

// Detach has a master's replica get nothing more of what the master takes.
func (c *Cluster) Detach(i int) {
	c.t.Helper()
	(&Watched{t: c.t, Master: c.Nodes[i], Replica: c.Nodes[c.masters+i]}).Detach()
}

// Sync waits until a master's replica has all that the master has.
func (c *Cluster) Sync(i int) {
	c.t.Helper()
	(&Watched{t: c.t, Master: c.Nodes[i], Replica: c.Nodes[c.masters+i]}).Sync()
}

// Move moves a slot with its keys to another master, key by key; between is
// called when some of them have moved, while clients are told ASK.
func (c *Cluster) Move(slot, from, to int, between func()) {
	c.t.Helper()
	a, b := c.Nodes[from], c.Nodes[to]
	expect(c.t, b, fmt.Sprintf("CLUSTER SETSLOT %d IMPORTING %s", slot, c.id(a)))
	expect(c.t, a, fmt.Sprintf("CLUSTER SETSLOT %d MIGRATING %s", slot, c.id(b)))
	for first := true; ; first = false {
		_, key, _ := strings.Cut(a.Do(fmt.Sprintf("CLUSTER GETKEYSINSLOT %d 1", slot)), "\r\n$")
		if _, key, _ = strings.Cut(key, "\r\n"); key == "" {
			break
		}
		a.Do(fmt.Sprintf("MIGRATE 127.0.0.1 %d %s 0 5000", b.port, strings.TrimSpace(key)))
		if first {
			between()
		}
	}
	for _, s := range []*Server{b, a} {
		expect(c.t, s, fmt.Sprintf("CLUSTER SETSLOT %d NODE %s", slot, c.id(b)))
	}
}

func expect(t testing.TB, s *Server, command string) {
	t.Helper()
	if out := s.Do(command); !strings.HasPrefix(out, "+OK") {
		t.Fatalf("redis %s: %s", command, out)
	}
}
