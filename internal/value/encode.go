package value

import (
	"unicode/utf8"
)

// AppendAnswer appends the JSON of an answer to out. It does not escape HTML characters.
// Otherwise the JSON is that of json.Marshal.
func AppendAnswer[C change](out []byte, answer []C, verdict, reason, message string) []byte {
	changes := as[Change](answer)
	out = append(out, '{')
	if len(changes) > 0 {
		out = append(out, `"changes":[`...)
		for i := range changes {
			if i > 0 {
				out = append(out, ',')
			}
			out = changes[i].appendJSON(out)
		}
		out = append(out, ']')
	}
	out = appendMember(out, `"verdict":`, verdict)
	out = appendMember(out, `"reason":`, reason)
	out = appendMember(out, `"message":`, message)
	return append(out, '}')
}

func (c *Change) appendJSON(out []byte) []byte {
	out = appendString(append(out, `{"pointer":`...), c.Pointer)
	if len(c.Value) > 0 {
		out = append(append(out, `,"value":`...), c.Value...)
	}
	if c.Remove {
		out = append(out, `,"remove":true`...)
	}
	return append(out, '}')
}

// appendMember appends a member of an object unless the text is empty. name includes quotes and colon.
func appendMember(out []byte, name, text string) []byte {
	if text == "" {
		return out
	}
	if out[len(out)-1] != '{' {
		out = append(out, ',')
	}
	return appendString(append(out, name...), text)
}

// appendString appends the JSON of s as encoding/json writes it without escaping HTML characters.
func appendString(out []byte, s string) []byte {
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
