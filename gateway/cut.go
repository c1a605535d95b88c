package gateway

import "bytes"

// cutter finds where the events of a stream end, so that only whole events
// leave and heartbeats stand between them. It changes nothing and judges
// nothing: that is the decoder's.
type cutter struct {
	format string
	inLine bool // the line in progress has bytes
	cr     bool // the byte before was a CR that ended a line: a LF that follows belongs to it
}

// next returns how many bytes of p there are up to the end of an event, that
// end included; 0 where no event ends in p.
func (c *cutter) next(p []byte) int {
	switch c.format {
	case "sse":
		return c.sse(p)
	case "ndjson":
		return bytes.IndexByte(p, '\n') + 1
	}
	return len(p)
}

// clean reports whether other bytes may follow what ended an event: not
// between the CR and the LF of one line end.
func (c *cutter) clean() bool { return !c.cr && (c.format == "sse" || c.format == "ndjson") }

func (c *cutter) sse(p []byte) int {
	i := 0
	if c.cr && len(p) > 0 {
		c.cr = false
		if p[0] == '\n' {
			i = 1
		}
	}
	for i < len(p) {
		end := lineEnd(p[i:])
		if end < 0 {
			c.inLine = true
			return 0
		}
		blank := end == 0 && !c.inLine
		c.inLine = false
		i = c.after(p, i+end)
		if blank {
			return i
		}
	}
	return 0
}

// after is the position after the line end at p[at].
func (c *cutter) after(p []byte, at int) int {
	if p[at] == '\r' {
		if at+1 == len(p) {
			c.cr = true
		} else if p[at+1] == '\n' {
			return at + 2
		}
	}
	return at + 1
}

func lineEnd(p []byte) int {
	lf := bytes.IndexByte(p, '\n')
	if lf >= 0 {
		p = p[:lf]
	}
	if cr := bytes.IndexByte(p, '\r'); cr >= 0 {
		return cr
	}
	return lf
}
