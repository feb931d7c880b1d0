package remote

import (
	"bytes"
	"encoding/json"
)

// SessionOf returns the session that the input of a hook belongs to; empty if none. The input names it in sessionID, or, in an event, in
// sessionID of the properties, their info or their part.
func SessionOf(input []byte) string {
	if id := text(member(input, "sessionID")); id != "" {
		return id
	}
	properties := member(input, "properties")
	if properties == nil {
		return ""
	}
	for _, object := range [][]byte{properties, member(properties, "info"), member(properties, "part")} {
		if id := text(member(object, "sessionID")); id != "" {
			return id
		}
	}
	return ""
}

// text decodes a string; anything else is empty.
func text(value []byte) string {
	var s string
	if len(value) < 2 || json.Unmarshal(value, &s) != nil {
		return ""
	}
	return s
}

// member returns the value of a field of a JSON object, or nil. It reads no further than necessary: the fields of interest come
// first, and much may follow. For invalid data the result is nil or arbitrary.
func member(object []byte, name string) []byte {
	rest, ok := bytes.CutPrefix(bytes.TrimLeft(object, " \t\r\n"), []byte{'{'})
	for ok {
		key := rest[:valueEnd(rest)]
		rest = bytes.TrimLeft(rest[len(key):], " \t\r\n:")
		value := rest[:valueEnd(rest)]
		if key = bytes.TrimSpace(key); len(key) == len(name)+2 && string(key[1:len(key)-1]) == name {
			return bytes.TrimSpace(value)
		}
		_, rest, ok = bytes.Cut(rest[len(value):], []byte{','})
	}
	return nil
}

// valueEnd returns the end of the JSON value at the beginning of data: a comma, a colon or a closing bracket outside of it.
func valueEnd(data []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(data); i++ {
		c := data[i]
		switch {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case depth == 0 && (c == ',' || c == ':' || c == '}' || c == ']'):
			return i
		case c == '}' || c == ']':
			depth--
		}
	}
	return len(data)
}
