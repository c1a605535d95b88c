package table

import (
	"weir/stat"
	"weir/stream"
)

// silenceBar is the business silence that silent_share_10s counts, in ms.
const silenceBar = 10_000

// Share is a part of a whole, with its count.
type Share struct {
	Name  string // of an outcome; "unknown" where a log does not say
	N     int
	Of    int
	Share float64 // 0–1; 0 where Of is 0
}

func share(name string, n, of int) Share {
	s := Share{Name: name, N: n, Of: of}
	if of > 0 {
		s.Share = float64(n) / float64(of)
	}
	return s
}

// Outcomes lists the share of every outcome that occurred, best first.
func Outcomes(rows []Row) []Share {
	count := map[stream.Outcome]int{}
	for i := range rows {
		count[rows[i].Outcome]++
	}
	var out []Share
	for _, o := range stream.Outcomes() {
		if n := count[o]; n > 0 {
			out = append(out, share(string(o), n, len(rows)))
		}
	}
	if n := count[stream.Unknown]; n > 0 {
		out = append(out, share("unknown", n, len(rows)))
	}
	return out
}

// Broken is broken_share: truncated, reset, hung and error_mid ÷ sent.
func Broken(rows []Row) Share {
	n, sent := 0, 0
	for i := range rows {
		switch rows[i].Outcome {
		case stream.Dropped:
			continue
		case stream.Truncated, stream.Reset, stream.Hung, stream.ErrorMid:
			n++
		}
		sent++
	}
	return share("broken_share", n, sent)
}

// Silent is silent_share_10s: streams with a business silence of 10 s or more,
// open gap included, ÷ those that spoke or should have (answers that came as
// one body and dropped requests should not).
func Silent(rows []Row) Share {
	n, of := 0, 0
	for i := range rows {
		if rows[i].Outcome == stream.Dropped || rows[i].Whole {
			continue
		}
		of++
		if x := rows[i].Values.Get("longest_silence"); x.Is == stat.Reached && x.V >= silenceBar {
			n++
		}
	}
	return share("silent_share_10s", n, of)
}
