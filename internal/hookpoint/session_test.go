package hookpoint_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/tenonhq/tenon/internal/hookpoint"
)

func TestSessionOf(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		`{"sessionID":"a"}`: "a",
		`{"tool":"x","origin":{"sessionID":"no"},"sessionID":"a","args":{"sessionID":"no"}}`: "a",
		` { "x" : [1, {"y": "}"}] , "sessionID" : "a\"b" } `:                                 `a"b`,
		`{"id":"evt","type":"session.idle","properties":{"info":{},"sessionID":"a"}}`:        "a",
		`{"type":"message.updated","properties":{"info":{"sessionID":"a"}}}`:                 "a",
		`{"properties":{"part":{"sessionID":"a"}}}`:                                          "a",
		`{"sessionID":"a","properties":{"sessionID":"no"}}`:                                  "a",
		`{"directory":"/"}`:               "",
		`{"args":{"sessionID":"no"}}`:     "",
		`{"text":"\"sessionID\":\"no\""}`: "",
		`{"sessionID":7}`:                 "",
		`{"sessionID":"a`:                 "",
		`{}`:                              "",
		``:                                "",
		`null`:                            "",
		`[{"sessionID":"no"}]`:            "",
	} {
		if got := hookpoint.SessionOf([]byte(input)); got != want {
			t.Errorf("session of %s = %q, want %q", input, got, want)
		}
	}
}

// The session is the one a JSON decoder finds.
func FuzzSessionOf(f *testing.F) {
	f.Add([]byte(`{"sessionID":"a"}`))
	f.Add([]byte(`{"a":{"b":[{"c":"]}\\\""}]},"sessionID":"ses_1","properties":{"sessionID":"x"}}`))
	f.Add([]byte(`{"properties":{"sessionID":"x"}}`))
	f.Fuzz(func(t *testing.T, input []byte) {
		got := hookpoint.SessionOf(input)
		var top, properties map[string]json.RawMessage
		if !json.Valid(input) || json.Unmarshal(input, &top) != nil || duplicates(input) {
			return
		}
		value, ok := top["sessionID"]
		if !ok {
			if json.Unmarshal(top["properties"], &properties) != nil || properties["sessionID"] == nil {
				return
			}
			value = properties["sessionID"]
		}
		var want string
		if len(value) > 0 && value[0] == '"' && json.Unmarshal(value, &want) == nil && got != want {
			t.Errorf("session of %s = %q, want %q", input, got, want)
		}
	})
}

// duplicates reports whether a field in question may occur twice, or be written with escapes.
func duplicates(input []byte) bool {
	return bytes.Contains(input, []byte{'\\'}) || bytes.Count(input, []byte(`"sessionID"`)) > 1 || bytes.Count(input, []byte(`"properties"`)) > 1
}
