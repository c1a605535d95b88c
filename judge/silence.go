package judge

import (
	"slices"
	"time"

	"weir/stat"
	"weir/stream"
	"weir/table"
)

// silences are the business silences of the table, in seconds (METRICS §8.8).
var silences = []int{3, 5, 10, 30}

// SilenceRow says of the streams that were once silent for so long how many
// then failed by themselves: what a silence of this length is worth as a sign.
type SilenceRow struct {
	Seconds  int         `json:"silence_s"`
	N        int         `json:"n"`         // streams that were, and that ended or failed by themselves
	Failed   int         `json:"failed"`    // of N: error, reset, truncated
	Share    *float64    `json:"share"`     // Failed ÷ N; null where N is 0
	Interval *[2]float64 `json:"interval"`  // of Share, exact binomial, 95 %
	Cut      int         `json:"cut_by_us"` // streams that were, and that weir or the user cut: what they would have done is unknown
	Applies  bool        `json:"applies"`   // false: we give up before so long a silence, so there is nothing to see
}

// Silence makes the table of observed failure by silence. deadline is how long
// weir lets a stream last; 0 = as long as it likes. Answers that came as one
// body are not streams, and of a log that does not say how a stream ended
// nothing is known; both are left out, as is what Judge leaves out.
func Silence(rows []table.Row, deadline time.Duration) []SilenceRow {
	out := make([]SilenceRow, len(silences))
	for i, s := range silences {
		out[i] = SilenceRow{Seconds: s, Applies: deadline <= 0 || time.Duration(s)*time.Second < deadline}
		if out[i].Applies {
			out[i].count(rows)
		}
	}
	return out
}

func (s *SilenceRow) count(rows []table.Row) {
	for i := range rows {
		r := &rows[i]
		x := r.Values.Get("longest_silence")
		switch {
		case !measured(r) || r.Whole || r.Outcome == stream.Unknown:
		case x.Is != stat.Reached || x.V < float64(s.Seconds)*1000:
		case r.Outcome.Ours():
			s.Cut++
		default:
			s.N++
			if slices.Contains(failures, r.Outcome) {
				s.Failed++
			}
		}
	}
	if s.N == 0 {
		return
	}
	share := float64(s.Failed) / float64(s.N)
	lo, hi := shareInterval(s.Failed, s.N)
	s.Share, s.Interval = &share, &[2]float64{lo, hi}
}

// failures are the outcomes of a stream that failed by itself.
var failures = []stream.Outcome{stream.ErrorEarly, stream.ErrorMid, stream.Reset, stream.Truncated}
