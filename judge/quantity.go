package judge

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// plainUnits are the units that a limit may carry beside durations and %.
var plainUnits = []string{"tok/s", "char/s", "1/s", "tokens", "chars", "events", "count", "bytes", "share", "index"}

// allowedUnits says what units there are, for errors.
var allowedUnits = "ms, s, m, h (also us, ns), %, " + strings.Join(plainUnits, ", ") + ", or none"

var numberRule = regexp.MustCompile(`^[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?`)

// parseQuantity reads a number with its unit: a duration comes out in ms.
func parseQuantity(s string) (v float64, unit string, err error) {
	digits := numberRule.FindString(s)
	if digits == "" {
		return 0, "", fmt.Errorf("%q is no number from 0, with or without a unit", clip(s))
	}
	v, err = strconv.ParseFloat(digits, 64)
	if err != nil || math.IsInf(v, 0) {
		return 0, "", fmt.Errorf("%q is no number that can be held", clip(digits))
	}
	unit = strings.TrimSpace(s[len(digits):])
	switch {
	case unit == "" || unit == "%" || slices.Contains(plainUnits, unit):
		return v, unit, nil
	case unit == "/s":
		return v, "1/s", nil
	}
	d, err := time.ParseDuration(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		return 0, "", fmt.Errorf("unit %q is not known (allowed: %s)", clip(unit), allowedUnits)
	}
	return float64(d) / float64(time.Millisecond), "ms", nil
}

// quantity writes what parseQuantity reads.
func quantity(v float64, unit string) string {
	switch unit {
	case "ms":
		return time.Duration(v * float64(time.Millisecond)).String()
	case "", "%":
		return number(v) + unit
	}
	return number(v) + " " + unit
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// in brings a limit to the unit of what it limits.
func (c Condition) in(unit string) (float64, error) {
	switch {
	case unit == "ms" && c.Unit == "":
		return 0, fmt.Errorf("%s is a time without its unit; write %sms or %ss", number(c.Value), number(c.Value), number(c.Value))
	case unit == "share" || unit == "index":
		return c.part(unit)
	case c.Unit != "" && c.Unit != unit:
		return 0, fmt.Errorf("it is measured in %s, and %s is not that", orNone(unit), quantity(c.Value, c.Unit))
	}
	return c.Value, nil
}

// part is a limit from 0 to 1, as such or in percent.
func (c Condition) part(unit string) (float64, error) {
	v := c.Value
	switch c.Unit {
	case "%":
		// By decimals: 99.9 ÷ 100 in binary lies above 0.999, so that 999 of 1000 would fail.
		v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'f', -1, 64)+"e-2", 64)
	case "", unit:
	default:
		return 0, fmt.Errorf("it is a part of 1, and %s is not that; write 99%% or 0.99", quantity(c.Value, c.Unit))
	}
	if v > 1 {
		return 0, fmt.Errorf("%s is more than all; write %s%% or a number from 0 to 1", quantity(c.Value, c.Unit), number(min(c.Value, 100)))
	}
	return v, nil
}

func orNone(unit string) string {
	if unit == "" {
		return "a plain number"
	}
	return unit
}
