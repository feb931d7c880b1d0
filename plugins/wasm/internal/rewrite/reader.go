package rewrite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"
)

// ErrMalformed is wrapped by every error about a module. The text contains the offset.
var ErrMalformed = errors.New("malformed or unsupported module")

// reader reads the binary format. After the first error every read returns zero, and loops end because more returns false.
type reader struct {
	data []byte
	pos  int
	base int // offset of data in the module, for messages
	err  error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: offset %#x: %s", ErrMalformed, r.base+r.pos, fmt.Sprintf(format, args...))
		r.pos = len(r.data)
	}
}

// more reports whether data is left.
func (r *reader) more() bool { return r.err == nil && r.pos < len(r.data) }

func (r *reader) byte() byte {
	if r.pos >= len(r.data) {
		r.fail("unexpected end")
		return 0
	}
	b := r.data[r.pos]
	r.pos++
	return b
}

// take returns the next n bytes.
func (r *reader) take(n uint32) []byte {
	if r.err != nil || uint64(n) > uint64(len(r.data)-r.pos) {
		r.fail("unexpected end: want %d bytes", n)
		return nil
	}
	b := r.data[r.pos : r.pos+int(n)]
	r.pos += int(n)
	return b
}

// text reads a name, which must be UTF-8.
func (r *reader) text() string {
	b := r.take(r.u32())
	if !utf8.Valid(b) {
		r.fail("a name that is not UTF-8")
	}
	return string(b)
}

// part returns a reader of the next n bytes.
func (r *reader) part(n uint32) *reader {
	base := r.base + r.pos
	b := r.take(n)
	return &reader{data: b, base: base, err: r.err}
}

func (r *reader) u32() uint32 {
	var v uint32
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte()
		if shift == 28 && b > 0x0f {
			break
		}
		v |= uint32(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
	r.fail("a number is larger than 32 bits")
	return 0
}

// s33 reads a signed number of 33 bits, as in block types.
func (r *reader) s33() int64 {
	var v int64
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte()
		v |= int64(b&0x7f) << shift
		if b < 0x80 {
			if b&0x40 != 0 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
	r.fail("a number is larger than 33 bits")
	return 0
}

// skipNumber skips a number of at most max bytes.
func (r *reader) skipNumber(max int) {
	for range max {
		if r.byte() < 0x80 {
			return
		}
	}
	r.fail("a number is longer than %d bytes", max)
}

// count reads the length of a vector whose elements take at least one byte each.
func (r *reader) count(what string, max int) int {
	n := r.u32()
	switch {
	case int64(n) > int64(max):
		r.fail("%d %s, at most %d are allowed", n, what, max)
	case int64(n) > int64(len(r.data)-r.pos):
		r.fail("%d %s do not fit into the section", n, what)
	default:
		return int(n)
	}
	return 0
}

// done fails if data is left.
func (r *reader) done(what string) {
	if r.err == nil && r.pos != len(r.data) {
		r.fail("%d bytes too many in %s", len(r.data)-r.pos, what)
	}
}

func appendU32(b []byte, v uint32) []byte {
	return binary.AppendUvarint(b, uint64(v))
}

// appendS64 appends a signed number in its shortest form.
func appendS64(b []byte, v int64) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}
