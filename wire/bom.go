package wire

const byteOrderMark = "\xef\xbb\xbf"

// bom strips one leading byte order mark from a stream, also where a read cuts
// it. Its zero value is at the start of the stream.
type bom struct {
	seen int  // bytes of a mark that have come
	done bool // the start is behind us
}

// strip returns what p holds after the mark and, where earlier pieces looked
// like the beginning of a mark but were not, those bytes.
func (b *bom) strip(p []byte) (held string, rest []byte) {
	for i, c := range p {
		if c != byteOrderMark[b.seen] {
			b.done = true
			if i < b.seen { // an earlier piece brought some of it
				return byteOrderMark[:b.seen-i], p
			}
			return "", p
		}
		if b.seen++; b.seen == len(byteOrderMark) {
			b.done = true
			return "", p[i+1:]
		}
	}
	return "", nil
}

// tail returns the beginning of a mark that the end of the stream cut off.
func (b *bom) tail() string {
	if b.done {
		return ""
	}
	b.done = true
	return byteOrderMark[:b.seen]
}

// withoutBOM is b less one leading byte order mark.
func withoutBOM(b []byte) []byte {
	if len(b) >= len(byteOrderMark) && string(b[:len(byteOrderMark)]) == byteOrderMark {
		return b[len(byteOrderMark):]
	}
	return b
}
