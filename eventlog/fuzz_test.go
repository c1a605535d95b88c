package eventlog

import (
	"bytes"
	"os"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// Whatever a file holds, reading it ends, never panics, and what it gives can
// be written and read again.
func FuzzRead(f *testing.F) {
	article, err := os.ReadFile("testdata/article.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	own := lines(f, sample("a"), sample("b"))
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(article)
	f.Add(own)
	f.Add(own[:len(own)-30])
	f.Add(append(own[:len(own)-30], tornMark...))
	f.Add(enc.EncodeAll(own, nil))
	f.Add([]byte("\x28\xb5\x2f\xfd\x00"))
	f.Add([]byte("\xef\xbb\xbf{}\r\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		l, err := Read(bytes.NewReader(in), "f")
		if err != nil {
			return
		}
		if len(l.Records) == 0 {
			t.Fatal("no error and no record")
		}
		for _, r := range l.Records {
			for _, e := range r.Events {
				if e.Read > len(r.Reads) || e.Arrival > len(r.Arrivals) {
					t.Fatalf("event %d points outside the reads or arrivals", e.Seq)
				}
			}
			b, err := AppendRecord(nil, r, true)
			if err != nil {
				t.Fatal(err)
			}
			again, err := Read(bytes.NewReader(b), "again")
			if err != nil {
				t.Fatalf("%v\n%s", err, b)
			}
			if len(again.Records) != 1 || len(again.Records[0].Events) != len(r.Events) {
				t.Fatalf("record changed:\n%s", b)
			}
		}
	})
}
