package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"weir/metric"
	"weir/stat"
)

const notKnown = "n/a"

// Millis shows a duration in milliseconds with its unit and three digits or
// fewer: 0.31 ms, 4.2 ms, 203 ms, 1.25 s, 12.3 s, 125 s.
func Millis(ms float64) string {
	switch a := math.Abs(ms); {
	case a == 0:
		return "0 ms"
	case a < 0.995:
		return fmt.Sprintf("%.2f ms", ms)
	case a < 9.95:
		return fmt.Sprintf("%.1f ms", ms)
	case a < 999.5:
		return fmt.Sprintf("%.0f ms", ms)
	case a < 9995:
		return fmt.Sprintf("%.2f s", ms/1e3)
	case a < 99950:
		return fmt.Sprintf("%.1f s", ms/1e3)
	}
	return fmt.Sprintf("%.0f s", ms/1e3)
}

func duration(d time.Duration) string { return Millis(float64(d) / float64(time.Millisecond)) }

// Figure shows a number of a metric's unit.
func Figure(v float64, unit string) string {
	switch unit {
	case "ms":
		return Millis(v)
	case "share":
		return percent(v)
	case "tok/s", "char/s":
		return digits(v) + " " + unit
	case "index":
		return fmt.Sprintf("%.2f", v)
	case "bytes", "B":
		return bytesOf(v)
	case "count", "":
		return digits(v)
	}
	if v == 1 {
		unit = strings.TrimSuffix(unit, "s") // 1 token
	}
	return digits(v) + " " + unit
}

// digits shows whole numbers whole and others with three digits.
func digits(v float64) string {
	if a := math.Abs(v); v == math.Trunc(v) || a >= 99.95 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	} else if a >= 0.995 {
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

func percent(share float64) string {
	p := 100 * share
	if p == 0 || p >= 9.95 || p == math.Trunc(p) {
		return fmt.Sprintf("%.0f %%", p)
	}
	return fmt.Sprintf("%.1f %%", p)
}

func bytesOf(n float64) string {
	switch {
	case n < 10000:
		return fmt.Sprintf("%.0f B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", n/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", n/(1<<20))
}

// value shows what is known of a metric of one record.
func value(v metric.Value, unit string) string {
	switch v.Is {
	case metric.Reached:
		return Figure(v.V, unit)
	case metric.Over:
		return "> " + Figure(v.V, unit)
	case metric.Never:
		return "never"
	}
	return notKnown
}

// point shows a quantile or extreme.
func point(p stat.Point, unit string) string {
	switch p.Is {
	case stat.Exact:
		return Figure(p.V, unit)
	case stat.OverLow:
		return "> " + Figure(p.V, unit)
	case stat.IsNever:
		return "never"
	}
	return notKnown
}

// count shows a number with its noun: 1 request, 4 requests.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
