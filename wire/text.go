package wire

import "unicode/utf8"

// Text returns b as valid UTF-8 by the WHATWG decoder's rule: each maximal
// subpart of an ill-formed sequence becomes one U+FFFD. Bytes that are valid
// already are copied and not looked at twice.
func Text(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	out := make([]byte, 0, len(b)+utf8.UTFMax)
	for len(b) > 0 {
		if r, n := utf8.DecodeRune(b); r != utf8.RuneError || n > 1 {
			out = append(out, b[:n]...)
			b = b[n:]
			continue
		}
		out = utf8.AppendRune(out, utf8.RuneError)
		b = b[illFormed(b):]
	}
	return string(out)
}

// illFormed returns the length of the maximal subpart at the start of b, which
// begins no valid sequence: the bytes that could still have begun one (Unicode
// 17.0, table 3-7), at least one.
func illFormed(b []byte) int {
	need, lo, hi := 0, byte(0x80), byte(0xbf)
	switch c := b[0]; {
	case 0xc2 <= c && c <= 0xdf:
		need = 1
	case 0xe0 <= c && c <= 0xef:
		need = 2
		if c == 0xe0 {
			lo = 0xa0
		}
		if c == 0xed {
			hi = 0x9f
		}
	case 0xf0 <= c && c <= 0xf4:
		need = 3
		if c == 0xf0 {
			lo = 0x90
		}
		if c == 0xf4 {
			hi = 0x8f
		}
	}
	n := 1
	for n < len(b) && n <= need && lo <= b[n] && b[n] <= hi {
		lo, hi = 0x80, 0xbf
		n++
	}
	return n
}
