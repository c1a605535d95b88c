package eventlog

import (
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"weir/stream"
)

// arrivalRows are arrivals as rows of numbers: [at_ns, bytes, reads].
type arrivalRows []stream.Arrival

// MarshalJSON writes null where there are none.
func (rows arrivalRows) MarshalJSON() ([]byte, error) {
	if rows == nil {
		return []byte("null"), nil
	}
	b := []byte{'['}
	for i, a := range rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(append(b, '['), int64(a.At), 10)
		b = strconv.AppendInt(append(b, ','), int64(a.Bytes), 10)
		b = strconv.AppendInt(append(b, ','), int64(a.Reads), 10)
		b = append(b, ']')
	}
	return append(b, ']'), nil
}

// UnmarshalJSON reads the rows back.
func (rows *arrivalRows) UnmarshalJSON(b []byte) error {
	var in [][3]int64
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	for _, a := range in {
		*rows = append(*rows, stream.Arrival{At: time.Duration(a[0]), Bytes: int(a[1]), Reads: int(a[2])})
	}
	return nil
}

// readRows are reads as rows of numbers: [at_ns, app_ns, kernel_ns or null,
// bytes, waited 0 or 1, lag_max_ns or null].
type readRows []stream.Read

// MarshalJSON writes null where there are none.
func (rows readRows) MarshalJSON() ([]byte, error) {
	if rows == nil {
		return []byte("null"), nil
	}
	b := []byte{'['}
	for i, x := range rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(append(b, '['), int64(x.At), 10)
		b = strconv.AppendInt(append(b, ','), int64(x.App), 10)
		b = appendInt(append(b, ','), x.Kernel)
		b = strconv.AppendInt(append(b, ','), int64(x.Bytes), 10)
		if x.Waited {
			b = append(b, ",1,"...)
		} else {
			b = append(b, ",0,"...)
		}
		b = append(appendInt(b, x.LagMax), ']')
	}
	return append(b, ']'), nil
}

// UnmarshalJSON reads the rows back.
func (rows *readRows) UnmarshalJSON(b []byte) error {
	var in [][6]stream.Maybe[int64]
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	for _, x := range in {
		at, okAt := x[0].Get()
		app, okApp := x[1].Get()
		n, okBytes := x[3].Get()
		waited, okWaited := x[4].Get()
		if !okAt || !okApp || !okBytes || !okWaited {
			return errors.New("a read is [at_ns, app_ns, kernel_ns or null, bytes, waited 0 or 1, lag_max_ns or null]")
		}
		*rows = append(*rows, stream.Read{
			At: time.Duration(at), App: time.Duration(app), Kernel: nanos(x[2]),
			Bytes: int(n), Waited: waited != 0, LagMax: nanos(x[5]),
		})
	}
	return nil
}

func nanos(m stream.Maybe[int64]) stream.Maybe[time.Duration] {
	if n, ok := m.Get(); ok {
		return stream.Some(time.Duration(n))
	}
	return stream.None[time.Duration]()
}
