package load

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// traced is one line of a trace.
type traced struct {
	at     time.Duration // since the first
	input  int           // tokens of the prompt; 0 = not said
	output int           // tokens of the answer; 0 = not said
}

const (
	maxFile  = 256 << 20 // bytes of a trace or of prompts
	maxLines = 5_000_000
)

// Load reads the phase's trace, if it has one. A relative file is below base.
func (p *Phase) Load(base string) error {
	if p.Kind() != KindTrace {
		return nil
	}
	data, err := readBounded(base, p.File)
	if err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	lines, err := readTrace(p.File, data, p.Timestamps)
	if err != nil {
		return err
	}
	p.trace = lines
	return nil
}

func readBounded(base, file string) ([]byte, error) {
	if !filepath.IsAbs(file) {
		file = filepath.Join(base, file)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read: closing can lose nothing
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s is larger than %d MiB", file, maxFile>>20)
	}
	return data, err
}

// stamp is a line's time: a number, or a moment.
type stamp struct {
	number float64
	moment time.Time
	traced
}

// readTrace reads JSONL objects or CSV rows of a time, an input length and an
// output length, and puts them in order.
func readTrace(file string, data []byte, unit string) ([]traced, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	read, usual := readTraceCSV, "s"
	if first := bytes.TrimLeft(data, " \t\r\n"); len(first) > 0 && first[0] == '{' {
		read, usual = readTraceJSON, "ms"
	}
	if unit == "" {
		unit = usual
	}
	stamps, err := read(file, data)
	switch {
	case err != nil:
		return nil, err
	case len(stamps) == 0:
		return nil, fmt.Errorf("%s: the trace holds no line", file)
	}
	return sinceFirst(file, stamps, unit)
}

func sinceFirst(file string, stamps []stamp, unit string) ([]traced, error) {
	moments := !stamps[0].moment.IsZero()
	slices.SortStableFunc(stamps, func(a, b stamp) int {
		if moments {
			return a.moment.Compare(b.moment)
		}
		switch {
		case a.number < b.number:
			return -1
		case a.number > b.number:
			return 1
		}
		return 0
	})
	scale := 1e9
	if unit == "ms" {
		scale = 1e6
	}
	lines := make([]traced, len(stamps))
	for i, s := range stamps {
		if s.moment.IsZero() == moments {
			return nil, fmt.Errorf("%s: some times are numbers and some are dates", file)
		}
		lines[i] = s.traced
		if moments {
			lines[i].at = s.moment.Sub(stamps[0].moment)
		} else if x := (s.number - stamps[0].number) * scale; x <= float64(maxDuration) {
			lines[i].at = time.Duration(x)
		} else {
			lines[i].at = maxDuration + 1
		}
		if lines[i].at > maxDuration {
			return nil, fmt.Errorf("%s: the times span more than %s; numbers are taken as %s: say timestamps: s or ms", file, maxDuration, unit)
		}
	}
	return lines, nil
}

// Names that public traces use, in lower case without separators.
var (
	timeNames   = []string{"timestamp", "time", "at", "arrivaltime", "arrivedat"}
	inputNames  = []string{"inputlength", "inputtokens", "contexttokens", "requesttokens", "prompttokens", "numprefilltokens", "promptlength"}
	outputNames = []string{"outputlength", "outputtokens", "generatedtokens", "responsetokens", "completiontokens", "numdecodetokens"}
)

func plainName(s string) string {
	return strings.NewReplacer("_", "", " ", "", "-", "").Replace(strings.ToLower(strings.TrimSpace(s)))
}

func readTraceJSON(file string, data []byte) ([]stamp, error) {
	var out []stamp
	scan := bufio.NewScanner(bytes.NewReader(data))
	scan.Buffer(nil, 16<<20)
	for n := 1; scan.Scan(); n++ {
		if len(bytes.TrimSpace(scan.Bytes())) == 0 {
			continue
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(scan.Bytes(), &fields); err != nil {
			return nil, fmt.Errorf("%s:%d: not a JSON object: %w", file, n, err)
		}
		get := func(names []string) string {
			for k, v := range fields {
				if slices.Contains(names, plainName(k)) {
					return strings.Trim(string(v), `"`)
				}
			}
			return ""
		}
		s, err := parseStamp(get(timeNames), get(inputNames), get(outputNames))
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, n, err)
		}
		if out = append(out, s); len(out) > maxLines {
			return nil, fmt.Errorf("%s: more than %d lines", file, maxLines)
		}
	}
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return out, nil
}

func readTraceCSV(file string, data []byte) ([]stamp, error) {
	r := csv.NewReader(bytes.NewReader(data))
	r.ReuseRecord, r.TrimLeadingSpace = true, true
	head, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("%s: not a CSV file: %w", file, err)
	}
	columns := [3]int{column(head, timeNames), column(head, inputNames), column(head, outputNames)}
	if columns[0] < 0 {
		return nil, fmt.Errorf("%s:1: the first line names no column of times; one must be called timestamp", file)
	}
	var out []stamp
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		var cells [3]string
		for i, c := range columns {
			if c >= 0 {
				cells[i] = row[c]
			}
		}
		s, err := parseStamp(cells[0], cells[1], cells[2])
		if err != nil {
			line, col := r.FieldPos(columns[0])
			return nil, fmt.Errorf("%s:%d:%d: %w", file, line, col, err)
		}
		if out = append(out, s); len(out) > maxLines {
			return nil, fmt.Errorf("%s: more than %d lines", file, maxLines)
		}
	}
}

func column(head, names []string) int {
	return slices.IndexFunc(head, func(h string) bool { return slices.Contains(names, plainName(h)) })
}

// momentForms are the ways a date may be written.
var momentForms = []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00"}

func parseStamp(at, input, output string) (stamp, error) {
	s := stamp{}
	var err error
	if s.number, err = strconv.ParseFloat(at, 64); err != nil || s.number != s.number {
		for _, form := range momentForms {
			if s.moment, err = time.Parse(form, at); err == nil {
				break
			}
		}
		if s.moment.IsZero() {
			return s, fmt.Errorf("the time %q is neither a number nor a date such as 2026-01-31T12:00:00Z", clip(at))
		}
		s.number = 0
	}
	if s.input, err = length(input); err != nil {
		return s, fmt.Errorf("input length %w", err)
	}
	if s.output, err = length(output); err != nil {
		return s, fmt.Errorf("output length %w", err)
	}
	return s, nil
}

// length reads a count of tokens; nothing is "not said".
func length(s string) (int, error) {
	if s == "" {
		return 0, nil
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || x < 0 || x > 10_000_000 || x != x {
		return 0, fmt.Errorf("%q: want a whole number of tokens, not negative", clip(s))
	}
	return int(x), nil
}

func clip(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}
