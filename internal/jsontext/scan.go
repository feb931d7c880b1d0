package jsontext

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is the maximum nesting that encoding/json accepts.
const maxDepth = 10000

// Scanner reads JSON as encoding/json does. Its methods skip leading space and report whether the JSON was as expected. After a method has
// returned false, the scanner must not be used.
type Scanner struct {
	data   []byte
	i      int
	nested int  // number of levels that may still be entered
	spaced bool // space was skipped
}

// NewScanner returns a scanner at the start of data, which it does not change.
func NewScanner(data []byte) Scanner { return Scanner{data: data, nested: maxDepth} }

// SyntaxError returns the error of encoding/json about the data, which names an offset.
func (d *Scanner) SyntaxError() error { return json.Unmarshal(d.data, new(json.RawMessage)) }

// Rest returns the data that was not read.
func (d *Scanner) Rest() []byte { return d.data[d.i:] }

// Name reads the name of a field and the colon. Names of fields are ASCII without escapes.
func (d *Scanner) Name() ([]byte, bool) {
	raw, escapes, ok := d.Quoted()
	if !ok || escapes > 0 || !d.Next(':') {
		return nil, false
	}
	for _, c := range raw {
		if c >= utf8.RuneSelf {
			return nil, false
		}
	}
	return raw, true
}

// Raw skips any value and returns its JSON.
func (d *Scanner) Raw() ([]byte, bool) {
	first := d.Peek()
	start := d.i
	var ok bool
	switch first {
	case '"':
		_, _, ok = d.Quoted()
	case '{':
		ok = d.Each('{', '}', func() bool {
			if _, _, ok := d.Quoted(); !ok || !d.Next(':') {
				return false
			}
			_, ok := d.Raw()
			return ok
		})
	case '[':
		ok = d.Each('[', ']', func() bool {
			_, ok := d.Raw()
			return ok
		})
	case 't':
		ok = d.Literal("true")
	case 'f':
		ok = d.Literal("false")
	case 'n':
		ok = d.Literal("null")
	default:
		_, ok = d.Number()
	}
	return d.data[start:d.i], ok
}

// Each calls f at every element between the brackets first and last.
func (d *Scanner) Each(first, last byte, f func() bool) bool {
	if d.nested--; d.nested < 0 || !d.Next(first) {
		return false
	}
	if d.Peek() == last {
		return d.leave()
	}
	for f() {
		switch d.Peek() {
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
func (d *Scanner) leave() bool {
	d.i++
	d.nested++
	return true
}

// Text reads a string.
func (d *Scanner) Text() (string, bool) {
	raw, escapes, ok := d.Quoted()
	switch {
	case !ok:
		return "", false
	case !utf8.Valid(raw):
		return Name(raw), true
	case escapes == 0:
		return string(raw), true
	}
	var out strings.Builder
	out.Grow(len(raw) - escapes)
	for rest := raw; ; {
		i := bytes.IndexByte(rest, '\\')
		if i < 0 {
			out.Write(rest)
			return out.String(), true
		}
		out.Write(rest[:i])
		c := rest[i+1]
		rest = rest[i+2:]
		if c != 'u' {
			out.WriteByte(unescaped(c))
			continue
		}
		r, _ := strconv.ParseUint(string(rest[:4]), 16, 16) // Quoted checked the digits
		if utf16.IsSurrogate(rune(r)) {
			return Name(raw), true
		}
		out.WriteRune(rune(r))
		rest = rest[4:]
	}
}

// Quoted skips a string. It returns the text between the quotes and the number of escapes in it.
func (d *Scanner) Quoted() (raw []byte, escapes int, ok bool) {
	if !d.Next('"') {
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

// Number skips a number and returns it.
func (d *Scanner) Number() ([]byte, bool) {
	d.Peek()
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

func (d *Scanner) digits() int {
	start := d.i
	for d.i < len(d.data) && '0' <= d.data[d.i] && d.data[d.i] <= '9' {
		d.i++
	}
	return d.i - start
}

// Literal skips the text of a word if it follows, without space before it.
func (d *Scanner) Literal(word string) bool {
	if end := d.i + len(word); end > len(d.data) || string(d.data[d.i:end]) != word {
		return false
	}
	d.i += len(word)
	return true
}

// Peek skips space and returns the next byte; zero at the end.
func (d *Scanner) Peek() byte {
	if d.i < len(d.data) && d.data[d.i] > ' ' {
		return d.data[d.i]
	}
	return d.peekBehindSpace()
}

func (d *Scanner) peekBehindSpace() byte {
	d.spaced = d.spaced || d.i < len(d.data)
	for d.i < len(d.data) && (d.data[d.i] == ' ' || d.data[d.i] == '\n' || d.data[d.i] == '\r' || d.data[d.i] == '\t') {
		d.i++
	}
	if d.i >= len(d.data) {
		return 0
	}
	return d.data[d.i]
}

// Next skips space and c, which must follow.
func (d *Scanner) Next(c byte) bool {
	if d.Peek() != c {
		return false
	}
	d.i++
	return true
}

func (d *Scanner) at(c byte) bool { return d.i < len(d.data) && d.data[d.i] == c }

// AtEnd reports whether only white space remains.
func (d *Scanner) AtEnd() bool {
	d.Peek()
	return d.i == len(d.data)
}
