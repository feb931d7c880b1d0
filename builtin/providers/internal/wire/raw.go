package wire

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// Present reports whether a field is set and not null.
func Present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// Text returns the string in raw, or "" if raw is not a string.
func Text(raw json.RawMessage) string {
	if len(raw) == 0 || raw[0] != '"' {
		return ""
	}
	if text := raw[1 : len(raw)-1]; !bytes.ContainsRune(text, '\\') && utf8.Valid(text) {
		return string(text) // nearly all deltas: a second decoder would double their cost
	}
	var s string
	if Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// ArgumentsText returns the arguments of a tool call, or a piece of them. Some servers send an object instead of its text.
func ArgumentsText(raw json.RawMessage) string {
	if len(raw) > 0 && raw[0] == '{' {
		return string(raw)
	}
	return Text(raw)
}
