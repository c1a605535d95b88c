package wire

import "errors"

// body keeps the whole of a body that is no stream, up to the frame limit, and
// emits it as one frame when it ends. An empty body gives no frame. A byte order
// mark is part of Raw and not of Data.
type body struct {
	limit int
	err   error // final
	buf   []byte
}

func (d *body) Feed(p []byte, _ func(Frame)) error {
	if d.err != nil {
		return d.err
	}
	if len(d.buf)+len(p) > d.limit {
		d.err, d.buf = tooLarge("body", d.limit), nil
		return d.err
	}
	d.buf = append(d.buf, p...)
	return nil
}

func (d *body) Close(emit func(Frame)) error {
	if errors.Is(d.err, errClosed) {
		return nil
	}
	if d.err != nil {
		return d.err
	}
	if len(d.buf) > 0 {
		emit(Frame{Kind: Body, Data: withoutBOM(d.buf), Raw: d.buf})
	}
	d.err, d.buf = errClosed, nil
	return nil
}
