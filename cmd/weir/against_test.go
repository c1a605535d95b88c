package main

import (
	"testing"

	"weir/judge"
	"weir/rig"
)

func TestInterleavedVerdict(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		found   rig.Interleaved
		verdict judge.Comparison
		code    int
	}{
		{"same", rig.Interleaved{}, judge.Comparison{Verdict: judge.Same, Convicts: true}, 0},
		{"no evidence", rig.Interleaved{}, judge.Comparison{Verdict: judge.NoEvidence, Convicts: true}, 0},
		{"too few, as asked for", rig.Interleaved{}, judge.Comparison{Verdict: judge.NoEvidence}, 0},
		{"slower", rig.Interleaved{Partial: true, Unfit: 1}, judge.Comparison{Verdict: judge.Slower, Convicts: true}, exitRegression},
		{"faster", rig.Interleaved{}, judge.Comparison{Verdict: judge.Faster, Convicts: true}, 0},
		{"interrupted", rig.Interleaved{Partial: true}, judge.Comparison{Verdict: judge.Same, Convicts: true}, exitFailed},
		{"unfit runs left out, enough others", rig.Interleaved{Unfit: 1}, judge.Comparison{Verdict: judge.Same, Convicts: true}, 0},
		{"unfit runs left out, too few others", rig.Interleaved{Unfit: 1}, judge.Comparison{Verdict: judge.NoEvidence}, exitUnfit},
	} {
		c.found.Comparison = &c.verdict
		if code := exitCode(interleavedVerdict(&c.found)); code != c.code {
			t.Errorf("%s: exit %d, want %d", c.name, code, c.code)
		}
	}
}
