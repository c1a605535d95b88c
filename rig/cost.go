package rig

import (
	"runtime/metrics"
	"time"

	gen "weir/load"
	"weir/stream"
)

// cost is what a load took of this process.
type cost struct {
	cpu      time.Duration
	cpuKnown bool
	grown    int64 // bytes of memory, at the most
}

func (c cost) cpuPer(events int) stream.Maybe[float64] {
	if !c.cpuKnown || events == 0 {
		return stream.None[float64]()
	}
	return stream.Some(round3(float64(c.cpu.Nanoseconds()) / 1e3 / float64(events)))
}

func (c cost) mbPer(streams int) stream.Maybe[float64] {
	return stream.Some(round3(float64(max(c.grown, 0)) / (1 << 20) / float64(streams)))
}

// meter measures CPU time and the growth of memory of this process. Memory is
// what the runtime holds of the system, records of what was observed included.
type meter struct {
	cpu      time.Duration
	cpuKnown bool
	memory   int64
	most     int64
	quit     chan struct{}
	done     chan struct{}
}

func startMeter() *meter {
	m := &meter{memory: memory(), quit: make(chan struct{}), done: make(chan struct{})}
	m.most = m.memory
	m.cpu, m.cpuKnown = gen.CPUTime()
	go m.watch()
	return m
}

func (m *meter) watch() {
	defer close(m.done)
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		m.most = max(m.most, memory())
		select {
		case <-tick.C:
		case <-m.quit:
			m.most = max(m.most, memory())
			return
		}
	}
}

func (m *meter) stop() cost {
	cpu, known := gen.CPUTime()
	close(m.quit)
	<-m.done
	return cost{cpu: cpu - m.cpu, cpuKnown: known && m.cpuKnown, grown: m.most - m.memory}
}

// memory is what the runtime holds and has not given back, in bytes.
func memory() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64()) - int64(s[1].Value.Uint64())
}
