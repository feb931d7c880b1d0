package wasm

import (
	"bytes"
	"encoding/json"
)

// sessionOf returns the session the input of a hook is about, or "" when it is about none. It stands at the top or, in an event,
// among the properties.
func sessionOf(input []byte) string {
	value := member(input, "sessionID")
	if value == nil {
		value = member(member(input, "properties"), "sessionID")
	}
	var id string
	if len(value) < 2 || json.Unmarshal(value, &id) != nil {
		return ""
	}
	return id
}

// member returns the value of a field of a JSON object, or nil. It reads no further than it must: the fields of interest stand at
// the beginning, and behind them there may be much. Data that is no object gives nil or nonsense.
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

// valueEnd returns where the JSON value at the beginning of data ends: at a comma, a colon or a closing bracket that is not inside
// of it.
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
