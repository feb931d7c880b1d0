package jsontext

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// Marshal is json.Marshal without HTML escapes, which would change the text of models.
func Marshal(v any) ([]byte, error) { return Append(nil, v) }

// Append appends the JSON of v, as Marshal returns it, to out.
func Append(out []byte, v any) ([]byte, error) {
	buf := bytes.NewBuffer(out)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// Quote returns the JSON of s.
func Quote(s string) []byte { return AppendString(make([]byte, 0, len(s)+2), s) }

// Compact returns a copy of JSON without space around its tokens. Other data is only copied.
func Compact(raw []byte) []byte {
	out, err := AppendCompact(nil, raw)
	if err != nil {
		return bytes.Clone(raw)
	}
	return out
}

// AppendCompact appends JSON without space around its tokens. JSON without space, the usual case, is only checked.
func AppendCompact(out, raw []byte) ([]byte, error) {
	d := NewScanner(raw)
	if _, ok := d.Raw(); ok && d.i == len(raw) && !d.spaced {
		return append(out, raw...), nil
	}
	buf := bytes.NewBuffer(out)
	err := json.Compact(buf, raw)
	return buf.Bytes(), err
}

// AppendString appends the JSON of s as encoding/json writes it without escaping HTML characters.
func AppendString(out []byte, s string) []byte {
	out = append(out, '"')
	for len(s) > 0 {
		n := plainText(s)
		out = append(out, s[:n]...)
		if s = s[n:]; s == "" {
			break
		}
		if c := s[0]; c < utf8.RuneSelf {
			out = appendEscaped(out, c)
			s = s[1:]
			continue
		}
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			out = append(out, `\ufffd`...)
		case r == '\u2028' || r == '\u2029': // line ends to JavaScript
			out = append(out, `\u202`...)
			out = append(out, "89"[r&1])
		default:
			out = append(out, s[:size]...)
		}
		s = s[size:]
	}
	return append(out, '"')
}

// plainText returns the number of ASCII characters at the start of s that require no escape.
func plainText(s string) int {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return i
		}
	}
	return len(s)
}

// appendEscaped appends an escaped ASCII character.
func appendEscaped(out []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(out, '\\', c)
	case '\n':
		return append(out, '\\', 'n')
	case '\t':
		return append(out, '\\', 't')
	case '\r':
		return append(out, '\\', 'r')
	case '\b':
		return append(out, '\\', 'b')
	case '\f':
		return append(out, '\\', 'f')
	}
	const hex = "0123456789abcdef"
	return append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}
