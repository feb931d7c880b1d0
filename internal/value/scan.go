package value

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// ordinary decodes JSON from position i. Its methods skip leading space and report whether the JSON was ordinary. After a method reported
// false, the value must not be used.
type ordinary struct {
	data  []byte
	i     int
	depth int
	loose bool // unknown fields of nested structs are dropped, as by encoding/json
}

// name reads the name of a field and the colon. Names of fields are ASCII without escapes.
func (d *ordinary) name() ([]byte, bool) {
	raw, escapes, ok := d.quoted()
	if !ok || escapes > 0 || !d.next(':') {
		return nil, false
	}
	for _, c := range raw {
		if c >= utf8.RuneSelf {
			return nil, false
		}
	}
	return raw, true
}

// raw skips any value and returns its JSON.
func (d *ordinary) raw() ([]byte, bool) {
	first := d.peek()
	start := d.i
	var ok bool
	switch first {
	case '"':
		_, _, ok = d.quoted()
	case '{':
		ok = d.each('{', '}', func() bool {
			if _, _, ok := d.quoted(); !ok || !d.next(':') {
				return false
			}
			_, ok := d.raw()
			return ok
		})
	case '[':
		ok = d.each('[', ']', func() bool {
			_, ok := d.raw()
			return ok
		})
	case 't':
		ok = d.literal("true")
	case 'f':
		ok = d.literal("false")
	case 'n':
		ok = d.literal("null")
	default:
		_, ok = d.number()
	}
	return d.data[start:d.i], ok
}

// each calls f at every element between the brackets first and last.
func (d *ordinary) each(first, last byte, f func() bool) bool {
	if d.depth++; d.depth > maxOrdinaryDepth || !d.next(first) {
		return false
	}
	if d.peek() == last {
		return d.leave()
	}
	for f() {
		switch d.peek() {
		case ',':
			d.i++
		case last:
			return d.leave()
		default:
			return false
		}
	}
	return false
}

// leave skips a closing bracket.
func (d *ordinary) leave() bool {
	d.i++
	d.depth--
	return true
}

// text reads a string.
func (d *ordinary) text() (string, bool) {
	raw, escapes, ok := d.quoted()
	if !ok || !utf8.Valid(raw) {
		return "", false // encoding/json replaces what is not UTF-8
	}
	if escapes == 0 {
		return string(raw), true
	}
	var out strings.Builder
	out.Grow(len(raw) - escapes)
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			out.Write(raw)
			return out.String(), true
		}
		out.Write(raw[:i])
		c := raw[i+1]
		raw = raw[i+2:]
		if c != 'u' {
			out.WriteByte(unescaped(c))
			continue
		}
		r, _ := strconv.ParseUint(string(raw[:4]), 16, 16) // quoted checked the digits
		if utf16.IsSurrogate(rune(r)) {
			return "", false
		}
		out.WriteRune(rune(r))
		raw = raw[4:]
	}
}

// quoted skips a string. It returns the text between the quotes and the number of escapes in it.
func (d *ordinary) quoted() (raw []byte, escapes int, ok bool) {
	if !d.next('"') {
		return nil, 0, false
	}
	for start := d.i; ; {
		d.i += plainBytes(d.data[d.i:])
		rest := d.data[d.i:]
		switch {
		case len(rest) < 2 && (len(rest) == 0 || rest[0] != '"'):
			return nil, 0, false
		case rest[0] == '"':
			d.i++
			return d.data[start : d.i-1], escapes, true
		case rest[0] != '\\':
			return nil, 0, false // a control character
		case rest[1] == 'u' && len(rest) >= 6 && isHex(rest[2:6]):
			d.i += 6
		case unescaped(rest[1]) != 0:
			d.i += 2
		default:
			return nil, 0, false
		}
		escapes++
	}
}

// plainBytes returns the number of bytes before the first quote, backslash or control character. It reads eight bytes at a time, because text
// is long.
func plainBytes(data []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(data); i += 8 {
		w := binary.LittleEndian.Uint64(data[i:])
		quote, slash := w^ones*'"', w^ones*'\\'
		// x-ones sets the high bit of the zero bytes of x; it may set more, but none below the first.
		if found := ((quote-ones)&^quote | (slash-ones)&^slash | (w-ones*' ')&^w) & highs; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for i < len(data) && data[i] >= ' ' && data[i] != '"' && data[i] != '\\' {
		i++
	}
	return i
}

// unescaped returns the character of the escape \c; zero if it is not an escape of one letter.
func unescaped(c byte) byte {
	switch c {
	case '"', '\\', '/':
		return c
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	}
	return 0
}

func isHex(digits []byte) bool {
	_, err := strconv.ParseUint(string(digits), 16, 16)
	return err == nil
}

// number skips a number and returns it.
func (d *ordinary) number() ([]byte, bool) {
	d.peek()
	start := d.i
	if d.at('-') {
		d.i++
	}
	zero := d.at('0')
	if n := d.digits(); n == 0 || zero && n > 1 {
		return nil, false
	}
	if d.at('.') {
		d.i++
		if d.digits() == 0 {
			return nil, false
		}
	}
	if d.at('e') || d.at('E') {
		d.i++
		if d.at('+') || d.at('-') {
			d.i++
		}
		if d.digits() == 0 {
			return nil, false
		}
	}
	return d.data[start:d.i], true
}

func (d *ordinary) digits() int {
	start := d.i
	for d.i < len(d.data) && '0' <= d.data[d.i] && d.data[d.i] <= '9' {
		d.i++
	}
	return d.i - start
}

func (d *ordinary) literal(word string) bool {
	if !bytes.HasPrefix(d.data[d.i:], []byte(word)) {
		return false
	}
	d.i += len(word)
	return true
}

// peek skips space and returns the next byte; zero at the end.
func (d *ordinary) peek() byte {
	if d.i < len(d.data) && d.data[d.i] > ' ' {
		return d.data[d.i]
	}
	return d.peekBehindSpace()
}

func (d *ordinary) peekBehindSpace() byte {
	d.i = skipSpace(d.data, d.i)
	if d.i >= len(d.data) {
		return 0
	}
	return d.data[d.i]
}

// next skips space and c, which must follow.
func (d *ordinary) next(c byte) bool {
	if d.peek() != c {
		return false
	}
	d.i++
	return true
}

func (d *ordinary) at(c byte) bool { return d.i < len(d.data) && d.data[d.i] == c }

func (d *ordinary) atEnd() bool {
	d.peek()
	return d.i == len(d.data)
}
