package report

import (
	"encoding/json"
	"fmt"
	"io"

	"weir/stream"
)

// Calibration is what the instrument is worth on this machine, held against a
// server whose truth is known. Times are in microseconds; null is unknown.
type Calibration struct {
	Streams       int                   `json:"streams"`
	Rate          float64               `json:"rate"` // output events per second of each stream
	DurationS     float64               `json:"duration_s"`
	Events        int                   `json:"events"` // that the truth knows of
	Lost          int                   `json:"events_lost"`
	Misclassified int                   `json:"events_misclassified"`
	Merged        int                   `json:"events_merged"`  // outputs that waited in the socket until a later one came: they bear its stamp
	KernelStreams int                   `json:"kernel_streams"` // whose every read bore a good kernel stamp
	Refused       []StampRefusal        `json:"kernel_refused"` // why the others had none
	Kernel        *StampErrors          `json:"kernel"`         // of those streams; nil where there is none
	App           *StampErrors          `json:"app"`            // of every stream
	ReadLag       *ErrorSizes           `json:"read_lag_us"`
	CPUPerEvent   stream.Maybe[float64] `json:"cpu_us_per_event"`
	MBPerStream   stream.Maybe[float64] `json:"mb_per_stream"` // of memory, its record included
	Found         FaultsFound           `json:"found"`
	Baseline      *Baseline             `json:"baseline"` // nil: not asked for
}

// StampErrors are those of one kind of stamp. The error of a stamp is its
// distance from [before, after] of the write, 0 inside; that of a gap is
// against the gap of the moments before.
type StampErrors struct {
	TTFT  *Errors `json:"ttft_error_us"`
	Gap   *Errors `json:"gap_error_us"`
	Stamp *Errors `json:"stamp_error_us"` // of every event, not only the first output
}

// Errors are sizes of errors and their bias: the mean with its sign, against
// the moment before the write.
type Errors struct {
	Bias float64 `json:"bias"`
	ErrorSizes
}

// ErrorSizes are nearest-rank quantiles.
type ErrorSizes struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// StampRefusal is why some streams did without kernel stamps.
type StampRefusal struct {
	Why     string `json:"why"`
	Streams int    `json:"streams"`
}

// FaultsFound says whether each fault that was injected was recognised.
type FaultsFound struct {
	Stall      bool `json:"stall"`
	Truncation bool `json:"truncation"`
	Buffering  bool `json:"buffering"`
}

// Baseline is the least that a reader of the same load costs: a bare epoll
// loop on one thread that receives and looks for line ends, and nothing else.
type Baseline struct {
	CPUPerEvent float64               `json:"cpu_us_per_event"`
	Ratio       stream.Maybe[float64] `json:"ratio"` // our cost against it
	Procs       int                   `json:"gomaxprocs"`
}

// Fit reports whether nothing was lost, nothing mistaken, and every injected
// fault recognised.
func (c *Calibration) Fit() bool {
	return c.Lost == 0 && c.Misclassified == 0 && c.Found == FaultsFound{true, true, true}
}

// WriteCalibrationJSON writes it for a program.
func WriteCalibrationJSON(w io.Writer, c *Calibration) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(c)
}

// WriteCalibration writes it for a person.
func WriteCalibration(w io.Writer, c *Calibration, v View) error {
	p := newPage(v)
	p.line(span{fmt.Sprintf("%s × %g events/s for %g s, on loopback", count(c.Streams, "stream"), c.Rate, c.DurationS), bold})
	bad := plainly
	if c.Lost+c.Misclassified > 0 {
		bad = red
	}
	p.line(span{fmt.Sprintf("%s, ", count(c.Events, "event")), plainly}, span{fmt.Sprintf("%d lost, %d misclassified", c.Lost, c.Misclassified), bad},
		span{fmt.Sprintf("; kernel stamps on %d of %s", c.KernelStreams, count(c.Streams, "stream")), plainly})
	if c.Merged > 0 {
		p.para(2, span{}, span{fmt.Sprintf("%s waited in the socket until a later one came, for the reader was late: they bear its stamp",
			count(c.Merged, "output")), plainly})
	}
	for _, r := range c.Refused {
		p.para(2, span{fmt.Sprintf("%s without: ", count(r.Streams, "stream")), plainly}, span{r.Why, plainly})
	}
	p.blank()
	p.table(0, []bool{false, true, true, true, true}, c.rows())
	p.blank()
	p.line(span{fmt.Sprintf("cost: %s CPU per event, %s MB of memory per stream with its record",
		microsOf(c.CPUPerEvent), hundredths(c.MBPerStream)), plainly})
	if b := c.Baseline; b != nil {
		p.line(span{fmt.Sprintf("bare read loop over the same load: %.2f µs CPU per event; ratio %s, with GOMAXPROCS=%d",
			b.CPUPerEvent, hundredths(b.Ratio), b.Procs), plainly})
	}
	p.line(span{"injected faults: ", plainly}, found("stall", c.Found.Stall), span{", ", plainly},
		found("truncation", c.Found.Truncation), span{", ", plainly}, found("buffering", c.Found.Buffering))
	p.blank()
	p.para(0, span{}, span{"An error is the distance of a stamp from the moments before and after the write; of a gap, " +
		"the difference from the gap of the writes. Loopback covers no loss, reordering or network card.", dim})
	return p.writeTo(w)
}

func (c *Calibration) rows() [][]span {
	rows := [][]span{{{"error in µs", dim}, {"bias", dim}, {"p50", dim}, {"p99", dim}, {"max", dim}}}
	for _, kind := range []struct {
		name string
		of   *StampErrors
	}{{"kernel stamps", c.Kernel}, {"application stamps", c.App}} {
		if kind.of == nil {
			rows = append(rows, []span{{kind.name, plainly}, {"n/a", plainly}})
			continue
		}
		for _, row := range []struct {
			name string
			of   *Errors
		}{{"ttft", kind.of.TTFT}, {"gap", kind.of.Gap}, {"every event", kind.of.Stamp}} {
			if row.of != nil {
				rows = append(rows, append([]span{{kind.name + ", " + row.name, plainly}, tenth(row.of.Bias)}, row.of.cells()...))
			}
		}
	}
	if c.ReadLag != nil {
		rows = append(rows, append([]span{{"read lag", plainly}, {}}, c.ReadLag.cells()...))
	}
	return rows
}

func (s ErrorSizes) cells() []span { return []span{tenth(s.P50), tenth(s.P99), tenth(s.Max)} }

func tenth(us float64) span { return span{fmt.Sprintf("%.1f", us), plainly} }

func found(name string, ok bool) span {
	if ok {
		return span{name + " found", green}
	}
	return span{name + " NOT found", red}
}

func microsOf(m stream.Maybe[float64]) string {
	if v, ok := m.Get(); ok {
		return fmt.Sprintf("%.2f µs", v)
	}
	return "n/a"
}

func hundredths(m stream.Maybe[float64]) string {
	if v, ok := m.Get(); ok {
		return fmt.Sprintf("%.2f", v)
	}
	return "n/a"
}
