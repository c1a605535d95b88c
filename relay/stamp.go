package relay

import "strconv"

// AppendStamped appends an SSE event to which an id of the position and, where
// retry is over 0, a reconnection time in ms are added. They go in before the
// blank line: a block of their own would be an event without data, which breaks
// clients, and an id that the service wrote into the event counts no more, since
// the last one does. The lines get the line end that the event has.
//
// A frame that does not end with a blank line is no whole event and is appended
// as it is; ok is then false.
func AppendStamped(dst, frame []byte, stream string, p Position, retry int64) (out []byte, ok bool) {
	fields, blank := splitBlank(frame)
	if blank == "" {
		return append(dst, frame...), false
	}
	end := lineEnd(fields)
	dst = append(dst, fields...)
	if retry > 0 {
		dst = append(dst, "retry: "...)
		dst = strconv.AppendInt(dst, retry, 10)
		dst = append(dst, end...)
	}
	dst = append(dst, "id: "...)
	dst = AppendID(dst, stream, p)
	dst = append(dst, end...)
	return append(dst, end...), true
}

// splitBlank cuts off the blank line at the frame's end; blank is "" where
// there is none.
func splitBlank(frame []byte) (fields []byte, blank string) {
	end := lineEnd(frame)
	if len(frame) == 0 || !isLineEnd(frame[len(frame)-1]) {
		return frame, ""
	}
	fields = frame[:len(frame)-len(end)]
	if len(fields) > 0 && !isLineEnd(fields[len(fields)-1]) {
		return frame, ""
	}
	return fields, end
}

// lineEnd is the line end that b ends with; LF where it ends with none.
func lineEnd(b []byte) string {
	n := len(b)
	switch {
	case n > 1 && b[n-2] == '\r' && b[n-1] == '\n':
		return "\r\n"
	case n > 0 && b[n-1] == '\r':
		return "\r"
	}
	return "\n"
}

func isLineEnd(c byte) bool { return c == '\n' || c == '\r' }
