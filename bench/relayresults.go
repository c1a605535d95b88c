package main

import (
	"fmt"
	"strings"
)

// passages finds the rounds of a way under a load; nil where there are none.
func (r results) passages(way string, l load) *passages {
	for _, p := range r.gateways {
		if p.way == way && p.load == l && len(p.rounds) > 0 {
			return p
		}
	}
	return nil
}

// relayTargets holds the gateway against the relays beside it in the same run.
func (r results) relayTargets() (all []target) {
	for _, l := range gatewayLoads {
		weir, nginx, proxy := r.passages("weir", l), r.passages("nginx, buffering off", l), r.passages("Go ReverseProxy", l)
		if weir == nil {
			continue
		}
		at := fmt.Sprintf(" at %d × %d/s", l.streams, l.rate)
		events, streams := weir.cut()
		all = append(all, target{"gateway: events lost, streams cut" + at, "0, 0", fmt.Sprintf("%d, %d", events, streams), events+streams == 0})
		if a, b, ok := both(weir, nginx, delay(0.5)); ok {
			all = append(all, target{"gateway: p50 delay per event less nginx's" + at, "≤ 0.1 ms", fmt.Sprintf("%.2f ms", a-b), a-b <= 0.1})
		}
		if a, b, ok := both(weir, proxy, cpuPerEvent); ok && b > 0 {
			all = append(all, target{"gateway: CPU per event ÷ Go ReverseProxy's" + at, "≤ 1", fmt.Sprintf("%.2f", a/b), a <= b})
		}
	}
	all = append(all, r.saturationTargets()...)
	all = append(all, r.socketTargets()...)
	weir, proxy := r.idle("weir"), r.idle("Go ReverseProxy")
	if a, ok := weir.perStream(); ok && proxy.streams > 0 {
		b, _ := proxy.perStream()
		all = append(all, target{fmt.Sprintf("gateway: memory per idle stream ÷ Go ReverseProxy's at %d", weir.streams), "≤ 1", fmt.Sprintf("%.2f", a/b), a <= b})
	}
	return all
}

// saturationTargets: GATEWAY asks a gateway that parses every event for 100,000
// a second on two cores, which the client's and the service's work are on too.
func (r results) saturationTargets() (all []target) {
	for _, s := range r.saturations {
		if !strings.HasPrefix(s.way, "weir") || len(s.rounds) == 0 {
			continue
		}
		lost, cut := s.broken()
		all = append(all, target{s.way + " at saturation: events lost, streams cut", "0, 0", fmt.Sprintf("%d, %d", lost, cut), lost+cut == 0})
		if s.way == "weir" || s.way == "weir, resume on" { // nothing else works beside them
			rate, ok := s.figure(surge.perSecond)
			all = append(all, target{s.way + " at saturation: events per second", "≥ 100,000", number(rate, ok, "%.0f"), ok && rate >= 100_000})
		}
	}
	return all
}

// saturated writes what each way brought at most.
func (r results) saturated(b *strings.Builder) {
	if len(r.saturations) == 0 {
		return
	}
	fmt.Fprintf(b, "\nAt saturation: %d streams of %d events without an interval, each %d times over, read by a client that only counts lines. "+
		"Service, relay and client share the processors, so that this is what the whole path brings; medians of %d rounds. "+
		"Much of an event's cost is waking up whoever reads it, so that a relay can bring more than none: one that gathers what comes while it works "+
		"is woken less often by the service's writes, and wakes the client once for many events. They are the same events, counted at the client.\n\n"+
		"| way | events/s | events per read of the client | CPU of service / relay / client, µs/event | events lost, streams cut |\n|---|---|---|---|---|\n",
		saturating.streams, saturating.events, saturating.repeats, r.rounds)
	for _, s := range r.saturations {
		if len(s.rounds) == 0 {
			fmt.Fprintf(b, "| %s | not measured | | | |\n", s.way)
			continue
		}
		rate, ok := s.figure(surge.perSecond)
		cell := func(of func(surge) (float64, bool)) string {
			v, ok := s.figure(of)
			return number(v, ok, "%.1f")
		}
		lost, cut := s.broken()
		fmt.Fprintf(b, "| %s | %s | %s | %s / %s / %s | %d, %d |\n", s.way, number(rate, ok, "%.0f"), cell(surge.eventsPerRead),
			cell(surge.serviceCPU), cell(surge.cpuPerEvent), cell(surge.clientCPU), lost, cut)
	}
}

// idle is what a way held; without streams where it was not measured.
func (r results) idle(way string) idle {
	for _, i := range r.idles {
		if i.way == way {
			return i
		}
	}
	return idle{}
}

func both(a, b *passages, of func(passage) (float64, bool)) (x, y float64, ok bool) {
	if a == nil || b == nil {
		return 0, 0, false
	}
	x, ok1 := a.figure(of)
	y, ok2 := b.figure(of)
	return x, y, ok1 && ok2
}

// relays writes a row a load and way.
func (r results) relays(b *strings.Builder) {
	if len(r.gateways) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## Relays\n\nThe same mock and the same client (`weir bench`) with each relay between them in turn, medians of %d rounds. "+
		"A delay is from the service's write of an event to its arrival at the client's socket; added is what is above direct. "+
		"weir parses and measures every event.\n\n"+
		"| load | way | delay p50 / p99 ms | added p50 / p99 ms | first event p50 ms | CPU µs/event | events lost, streams cut |\n|---|---|---|---|---|---|---|\n", r.rounds)
	for _, p := range r.gateways {
		if len(p.rounds) == 0 {
			fmt.Fprintf(b, "| %d × %d/s | %s | not measured | | | | |\n", p.streams, p.rate, p.way)
			continue
		}
		direct := r.passages("direct", p.load)
		events, streams := p.cut()
		cpu, ok := p.figure(cpuPerEvent)
		first, ok1 := p.figure(firstEvent)
		fmt.Fprintf(b, "| %d × %d/s | %s | %s / %s | %s / %s | %s | %s | %d, %d |\n", p.streams, p.rate, p.way,
			p.delay(0.5), p.delay(0.99), p.added(direct, 0.5), p.added(direct, 0.99), number(first, ok1, "%.1f"), number(cpu, ok, "%.1f"), events, streams)
	}
}

// waiting writes what each relay holds for idle streams.
func (r results) waiting(b *strings.Builder) {
	if len(r.idles) == 0 {
		return
	}
	b.WriteString("\n| relay | idle streams | resident KB/stream |\n|---|---|---|\n")
	for _, i := range r.idles {
		kb, ok := i.perStream()
		fmt.Fprintf(b, "| %s | %d | %s |\n", i.way, i.streams, number(kb, ok, "%.1f"))
	}
}

func (p *passages) delay(q float64) string {
	v, ok := p.figure(delay(q))
	return number(v, ok, "%.2f")
}

// added is what a way adds to a quantile of the direct one.
func (p *passages) added(direct *passages, q float64) string {
	a, b, ok := both(p, direct, delay(q))
	return number(a-b, ok && p != direct, "%.2f")
}
