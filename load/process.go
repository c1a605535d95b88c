package load

import (
	"math"
	"math/rand/v2"
)

// process gives arrivals of mean rate 1, one after the other, as rising
// numbers. A curve stretches them to its rate, whatever it is.
type process func() float64

// even arrivals are at 0, 1, 2 and so on.
func even() process {
	n := -1.0
	return func() float64 {
		n++
		return n
	}
}

// renewal arrivals have gamma-distributed times between them, of mean 1 and
// the given coefficient of variation; 1 is the Poisson process.
func renewal(cv float64, r *rand.Rand) process {
	t := 0.0
	if cv == 1 {
		return func() float64 {
			t += r.ExpFloat64()
			return t
		}
	}
	shape := 1 / (cv * cv)
	return func() float64 {
		t += gamma(shape, r) / shape
		return t
	}
}

// gamma draws from the gamma distribution of a shape, scale 1: G. Marsaglia,
// W. W. Tsang, "A simple method for generating gamma variables", ACM TOMS
// 26(3), 2000. Below shape 1 it uses G(a) = G(a+1)·U^(1/a).
func gamma(shape float64, r *rand.Rand) float64 {
	if shape < 1 {
		return gamma(shape+1, r) * math.Pow(1-r.Float64(), 1/shape)
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := r.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(1-r.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}

// process is the phase's own, seeded.
func (p Phase) process(seed uint64) process {
	cv := p.CV
	if p.Kind() == KindPoisson {
		cv = 1
	}
	if cv == 0 {
		return even()
	}
	return renewal(cv, rand.New(rand.NewPCG(seed, purposeTimes)))
}

// Purposes keep the random numbers of one seed apart: what is drawn for one
// never moves another.
const (
	purposeTimes    = 0x7469_6d65
	purposeScenario = 0x7363_656e
	purposePrompt   = 0x7072_6f6d
	purposeCancel   = 0x6361_6e63
)

// chance is a number from 0 up to 1 that belongs to one arrival of one phase,
// whichever machine sends it: splitmix64 (S. Vigna) over seed, purpose, phase
// and number.
func chance(seed, purpose uint64, phase, index int) float64 {
	x := mix(seed ^ mix(purpose^mix(uint64(phase)+1)))
	return float64(mix(x+uint64(index)*0x9e3779b97f4a7c15)>>11) / (1 << 53)
}

func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
