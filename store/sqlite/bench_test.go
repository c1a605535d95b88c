package sqlite

import (
	"os"
	"path/filepath"
	"testing"

	"weir/store"
	"weir/store/storetest"
	"weir/table"
)

// benchRows is a usual run. On two shared cores of a server a row took 730
// bytes of file, 60 µs to store in batches of 200, 110 µs to read whole and
// 50 µs to read with three metrics.
const benchRows = 10_000

func BenchmarkPut(b *testing.B) {
	rows := storetest.Rows("bench-001", benchRows)
	dir := b.TempDir()
	for b.Loop() {
		path := filepath.Join(dir, "weir.db")
		s, err := Open(b.Context(), Options{Path: path})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.PutRun(b.Context(), storetest.Run(1)); err != nil {
			b.Fatal(err)
		}
		for i := 0; i < benchRows; i += 200 {
			if err := s.Put(b.Context(), "bench-001", rows[i:i+200]); err != nil {
				b.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(info.Size())/benchRows, "bytes/row")
		os.Remove(path)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*benchRows), "µs/row")
}

func BenchmarkRows(b *testing.B) {
	s, err := Open(b.Context(), Options{Path: filepath.Join(b.TempDir(), "weir.db")})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	if err := s.PutRun(b.Context(), storetest.Run(1)); err != nil {
		b.Fatal(err)
	}
	if err := s.Put(b.Context(), "bench-001", storetest.Rows("bench-001", benchRows)); err != nil {
		b.Fatal(err)
	}
	for name, q := range map[string]table.Query{
		"all":  {Run: "bench-001"},
		"some": {Run: "bench-001", Metrics: []string{"ttft", "gap_p95"}, Where: `ttft_ms > 120 && label.region == "eu"`},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := store.Rows(b.Context(), s, q); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*benchRows), "µs/row")
		})
	}
}
