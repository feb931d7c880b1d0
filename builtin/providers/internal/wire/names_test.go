package wire_test

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/sdk"
)

func TestNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 64)
	for in, want := range map[string]string{
		"call_1": "call_1", "toolu/1.x": "toolu_1_x", long: long, "": "", "functions.read:0": "functions_read_0",
	} {
		if got := wire.CallID(in); got != want {
			t.Errorf("CallID(%q) = %q, want %q", in, got, want)
		}
	}
	if a, b := wire.CallID(long+"1"), wire.CallID(long+"2"); len(a) != 64 || len(b) != 64 || a == b || a != wire.CallID(long+"1") {
		t.Errorf("long IDs become %q and %q, want two stable ones of 64 bytes", a, b)
	}
	if got := wire.ToolName(""); got != "unknown" {
		t.Errorf("ToolName of nothing = %q", got)
	}
}

func FuzzCallID(f *testing.F) {
	f.Add("a\xffb")
	valid := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	f.Fuzz(func(t *testing.T, id string) {
		got := wire.CallID(id)
		if id != "" && !valid.MatchString(got) || valid.MatchString(id) && got != id || wire.CallID(got) != got {
			t.Errorf("CallID(%q) = %q", id, got)
		}
	})
}

// Claude's servers refuse other names of properties at the top of a schema; nested ones they take.
func TestClaudeParameters(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"\u0061.b-c_1":{"properties":{"$n":{}}}},"additionalProperties":false}`:                                "",
		`{"type":"object","description":"D.","properties":{"a":{},"$top":{"type":"number"}},"required":["$top"],"additionalProperties":false}`: `{"description":"D.\n\nFurther properties: {\"$top\":{\"type\":\"number\"}}","properties":{"a":{}},"required":["$top"],"type":"object"}`,
		`{"type":"object","properties":{"` + strings.Repeat("x", 65) + `":{}}}`:                                                                `{"description":"Further properties: {\"` + strings.Repeat("x", 65) + `\":{}}","properties":{},"type":"object"}`,
		`{"anyOf":[{"properties":{"é":1}}]}`: `{"description":"Further properties: {\"é\":1}","properties":{},"type":"object"}`,
	} {
		if got := string(wire.Parameters(&sdk.ToolDefinition{Parameters: json.RawMessage(schema)}, true)); got != cmp.Or(want, schema) {
			t.Errorf("Parameters(%s) = %s", schema, got)
		}
	}
}

func FuzzParameters(f *testing.F) {
	f.Add([]byte(`{"anyOf":[{"properties":{"a":{}}},1],"properties":{"a":1}}`))
	f.Add([]byte(`{"type":["object"],"oneOf":{},"properties":[]}`))
	f.Add([]byte(`{"type":"object","description":"D","properties":{"a[0]":1,"\u0061\ud800":{}}}`))
	f.Fuzz(func(t *testing.T, schema []byte) {
		for _, claude := range []bool{false, true} {
			got := wire.Parameters(&sdk.ToolDefinition{Parameters: schema}, claude)
			if json.Valid(schema) && !json.Valid(got) {
				t.Errorf("Parameters(%q) = %q, want JSON", schema, got)
			}
		}
	})
}
