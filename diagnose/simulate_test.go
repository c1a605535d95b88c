package diagnose

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"weir/stream"
)

// sent is one frame as a service writes it.
type sent struct {
	at    float64 // ms
	bytes int
	kind  stream.Kind
}

// source writes answers.
type source struct {
	n     int
	ttft  float64
	gap   func(*rand.Rand) float64
	bytes func(*rand.Rand) int
	early bool // the role leaves at once, not with the first output
}

func (s source) answer(rng *rand.Rand) []sent {
	role := sent{s.ttft, 262, stream.KindConnect}
	if s.early {
		role.at = 1
	}
	frames := []sent{role}
	at := s.ttft
	for i := range s.n {
		if i > 0 {
			at += s.gap(rng)
		}
		frames = append(frames, sent{at, s.bytes(rng), stream.KindText})
	}
	return append(frames, sent{at, 230, stream.KindDone}, sent{at, 320, stream.KindUsage}, sent{at, 14, stream.KindDone})
}

// piece is some bytes that leave a relay at a time.
type piece struct {
	at    float64
	bytes int
}

// relay turns what the service writes into what the client is sent.
type relay func([]sent, *rand.Rand) []piece

func direct(fs []sent, _ *rand.Rand) []piece {
	var out []piece
	for _, f := range fs {
		out = append(out, piece{f.at, f.bytes})
	}
	return out
}

// bySize holds bytes until there are size of them: whole frames (cut false) or
// exactly that many.
func bySize(size int, cut bool) relay {
	return func(fs []sent, _ *rand.Rand) []piece {
		var out []piece
		held := 0
		for _, f := range fs {
			held += f.bytes
			for cut && held >= size {
				out = append(out, piece{f.at, size})
				held -= size
			}
			if !cut && held >= size {
				out = append(out, piece{f.at, held})
				held = 0
			}
		}
		return append(out, piece{fs[len(fs)-1].at, held})
	}
}

// underSize sends what it holds before the next frame would overflow it.
func underSize(size int) relay {
	return func(fs []sent, _ *rand.Rand) []piece {
		var out []piece
		held := 0
		for _, f := range fs {
			if held > 0 && held+f.bytes > size {
				out = append(out, piece{f.at, held})
				held = 0
			}
			held += f.bytes
		}
		return append(out, piece{fs[len(fs)-1].at, held})
	}
}

// ticker flushes at a period that runs on its own phase.
func ticker(period, jitter float64) relay {
	return func(fs []sent, rng *rand.Rand) []piece {
		next := rng.Float64() * period
		var out []piece
		held := 0
		for _, f := range fs {
			for next < f.at {
				if held > 0 {
					out = append(out, piece{next + rng.Float64()*jitter, held})
					held = 0
				}
				next += period
			}
			held += f.bytes
		}
		return append(out, piece{fs[len(fs)-1].at, held})
	}
}

// afterFirst flushes a period after the first byte it holds.
func afterFirst(period, jitter float64) relay {
	return func(fs []sent, rng *rand.Rand) []piece {
		var out []piece
		held, due := 0, math.Inf(1)
		for _, f := range fs {
			if f.at > due {
				out = append(out, piece{due + rng.Float64()*jitter, held})
				held = 0
			}
			if held == 0 {
				due = f.at + period
			}
			held += f.bytes
		}
		return append(out, piece{fs[len(fs)-1].at, held})
	}
}

// atEnd holds everything and sends less of it, as a compressor does.
func atEnd(fs []sent, _ *rand.Rand) []piece {
	total := 0
	for _, f := range fs {
		total += f.bytes
	}
	return []piece{{fs[len(fs)-1].at, total}}
}

// steps is an engine that sends k outputs at once.
func steps(k int) relay {
	return func(fs []sent, _ *rand.Rand) []piece {
		var out []piece
		held, texts := 0, 0
		for i, f := range fs {
			held += f.bytes
			if f.kind == stream.KindText {
				texts++
			}
			if (f.kind == stream.KindText && texts%k == 0) || i == len(fs)-1 {
				out = append(out, piece{f.at, held})
				held = 0
			}
		}
		return out
	}
}

// receive is the client: reads at the times of the pieces plus its own noise,
// grouped into arrivals as the tap does.
func receive(fs []sent, ps []piece, noise func(*rand.Rand) float64, rng *rand.Rand) *stream.Record {
	r := &stream.Record{
		Streamed: true, Choices: 1, Conn: "warm", Outcome: stream.Complete, Proof: stream.ProofTerminal, Stamp: stream.StampKernel,
		Phases: stream.Phases{Headers: stream.Some(time.Millisecond)},
	}
	var g stream.Grouper
	last, got, have, next := time.Duration(0), 0, 0, 0
	for _, p := range ps {
		if p.bytes == 0 {
			continue
		}
		at := max(last, time.Duration((p.at+noise(rng))*1e6))
		last = at
		read := stream.Read{At: at, App: at, Bytes: p.bytes, Waited: true}
		r.Reads = append(r.Reads, read)
		arrival := g.Add(read)
		got += p.bytes
		for next < len(fs) && have+fs[next].bytes <= got {
			f := fs[next]
			have += f.bytes
			next++
			e := stream.Event{Kind: f.kind, At: at, Arrival: arrival, Read: len(r.Reads), Bytes: f.bytes, Seq: next}
			if f.kind == stream.KindText {
				e.Chars, e.Visible, e.Wide = stream.Some(4), stream.Some(4), stream.Some(0)
			}
			if f.kind == stream.KindDone {
				e.Proof = stream.ProofTerminal
			}
			r.Events = append(r.Events, e)
		}
	}
	r.Arrivals, r.End = stream.Arrivals(r.Reads), stream.Some(last)
	return r
}

func quiet(rng *rand.Rand) float64 { return 0.05 + 0.1*rng.ExpFloat64() }

// busy is a noisy scheduler: now and then everything waits for some ms.
func busy(rng *rand.Rand) float64 {
	if rng.Float64() < 0.04 {
		return 20 + 25*rng.Float64()
	}
	return quiet(rng)
}

// session5 is five answers over one path.
func session5(s source, via relay, noise func(*rand.Rand) float64, seed uint64) []*stream.Record {
	rng := rand.New(rand.NewPCG(seed, 7))
	var out []*stream.Record
	for i := range 5 {
		fs := s.answer(rng)
		r := receive(fs, via(fs, rng), noise, rng)
		r.RequestID, r.Index = fmt.Sprintf("req-%d", i), i
		out = append(out, r)
	}
	return out
}

func every(ms float64) func(*rand.Rand) float64 { return func(*rand.Rand) float64 { return ms } }
func expo(ms float64) func(*rand.Rand) float64 {
	return func(rng *rand.Rand) float64 { return ms * rng.ExpFloat64() }
}
func lognormal(ms, sigma float64) func(*rand.Rand) float64 {
	return func(rng *rand.Rand) float64 { return ms * math.Exp(sigma*rng.NormFloat64()) }
}
func normal(ms, sd float64) func(*rand.Rand) float64 {
	return func(rng *rand.Rand) float64 { return max(0, ms+sd*rng.NormFloat64()) }
}

// words are frames whose size varies as little as OpenAI's do, or as much as
// those of a service that sends phrases.
func words(rng *rand.Rand) int   { return 228 + rng.IntN(9) }
func phrases(rng *rand.Rand) int { return 90 + rng.IntN(160) }
func same(*rand.Rand) int        { return 230 }
