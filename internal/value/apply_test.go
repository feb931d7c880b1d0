package value_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
)

func change(pointer, value string) sdk.Change {
	if value == "" {
		return sdk.Change{Pointer: pointer, Remove: true}
	}
	return sdk.Change{Pointer: pointer, Value: json.RawMessage(value)}
}

func toolValue() *sdk.ChatMessagesValue {
	v := conversation(4)
	v.Messages[1].Parts[2].(*sdk.ToolPart).Extra = sdk.Extra{"x": json.RawMessage(`{"y":1}`)}
	return v
}

func TestApply(t *testing.T) {
	t.Parallel()
	running := sdk.ToolState{Status: sdk.ToolRunning, Input: json.RawMessage(`{"command":"ls","n":12345678901234567890}`), Time: sdk.ToolTime{Start: 1}}
	unknown, err := sdk.DecodePart([]byte(`{"type":"future","id":"f","sessionID":"s","messageID":"m","deep":{"n":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		value   any
		changes []sdk.Change
		look    string // a pointer
		want    string // the JSON there
	}{
		"set in a nil object":           {&sdk.ChatParams{}, []sdk.Change{change("/options/a/b", "1")}, "/options", `{"a":{"b":1}}`},
		"set a pointer":                 {&sdk.ChatParams{}, []sdk.Change{change("/temperature", "0.5")}, "/temperature", `0.5`},
		"null a pointer":                {&sdk.ChatParams{Temperature: new(float64)}, []sdk.Change{change("/temperature", "null")}, "/temperature", ``},
		"remove a pointer":              {&sdk.ChatParams{Temperature: new(float64)}, []sdk.Change{change("/temperature", "")}, "/temperature", ``},
		"remove what is not there":      {&sdk.ChatParams{}, []sdk.Change{change("/options/a", "")}, "/options", `null`},
		"the whole value":               {&sdk.ChatSystemValue{}, []sdk.Change{change("", `{"system":["a"]}`)}, "", `{"system":["a"]}`},
		"append twice":                  {&sdk.ChatSystemValue{}, []sdk.Change{change("/system/0", `"a"`), change("/system/1", `"b"`)}, "/system", `["a","b"]`},
		"remove an element":             {&sdk.ChatSystemValue{System: []string{"a", "b", "c"}}, []sdk.Change{change("/system/1", "")}, "/system", `["a","c"]`},
		"escaped key":                   {&sdk.ShellEnvValue{}, []sdk.Change{change("/env/a~1b~0", `"x"`)}, "/env", `{"a/b~":"x"}`},
		"exact number":                  {&sdk.ToolBeforeValue{}, []sdk.Change{change("/args/n", `12345678901234567890`)}, "/args/n", `12345678901234567890`},
		"element of a list of any":      {&sdk.ToolBeforeValue{Args: sdk.Object{"l": []any{1.0, map[string]any{}}}}, []sdk.Change{change("/args/l/1/k", `[]`), change("/args/l/2", `3`)}, "/args/l", `[1,{"k":[]},3]`},
		"inside a Go slice":             {&sdk.ToolBeforeValue{Args: sdk.Object{"l": []string{"a", "b"}}}, []sdk.Change{change("/args/l/0", `"c"`)}, "/args/l", `["c","b"]`},
		"output of a tool":              {toolValue(), []sdk.Change{change("/messages/1/parts/2/state/output", `"new"`)}, "/messages/1/parts/2/state/output", `"new"`},
		"inside raw JSON":               {&sdk.CommandValue{Parts: sdk.Parts{tool("p", running)}}, []sdk.Change{change("/parts/0/state/input/command", `"pwd"`)}, "/parts/0/state/input", `{"command":"pwd","n":12345678901234567890}`},
		"status of a tool":              {&sdk.CommandValue{Parts: sdk.Parts{tool("p", running)}}, []sdk.Change{change("/parts/0/state/status", `"error"`)}, "/parts/0/state/status", `"error"`},
		"unknown field":                 {toolValue(), []sdk.Change{change("/messages/1/parts/2/new", `{"a":1}`), change("/messages/1/parts/2/x/y", `2`)}, "/messages/1/parts/2/x", `{"y":2}`},
		"unknown field, nested":         {toolValue(), []sdk.Change{change("/messages/0/info/time/zone", `"CET"`)}, "/messages/0/info/time", `{"created":1,"zone":"CET"}`},
		"object with an unknown field":  {toolValue(), []sdk.Change{change("/messages/0/info/time", `{"created":2,"zone":"CET"}`)}, "/messages/0/info/time", `{"created":2,"zone":"CET"}`},
		"unknown part":                  {&sdk.CommandValue{Parts: sdk.Parts{unknown}}, []sdk.Change{change("/parts/0/deep/n", `2`)}, "/parts/0/deep", `{"n":2}`},
		"whole part":                    {toolValue(), []sdk.Change{change("/messages/0/parts/0", `{"type":"agent","id":"q","sessionID":"s","messageID":"m","name":"x"}`)}, "/messages/0/parts/0/name", `"x"`},
		"append a part":                 {toolValue(), []sdk.Change{change("/messages/0/parts/1", `{"type":"text","text":"more"}`)}, "/messages/0/parts/1/text", `"more"`},
		"id that is not a part's":       {&sdk.ToolBeforeValue{Args: sdk.Object{"id": "1"}}, []sdk.Change{change("/args/id", `"2"`), change("/args/type", `"x"`)}, "/args", `{"id":"2","type":"x"}`},
		"money":                         {toolValue(), []sdk.Change{change("/messages/1/info/cost", `0.000000000001`)}, "/messages/1/info/cost", `0.000000000001`},
		"permission rules in any form":  {&sdk.Config{}, []sdk.Change{change("/permission", `{"bash":"ask"}`)}, "/permission", `[{"permission":"bash","pattern":"*","action":"ask"}]`},
		"a map of structs":              {&sdk.Config{}, []sdk.Change{change("/agent/a/prompt", `"p"`), change("/agent/a/steps", `3`)}, "/agent", `{"a":{"prompt":"p","steps":3}}`},
		"a switch":                      {&sdk.AutocontinueValue{}, []sdk.Change{change("/enabled", `true`)}, "", `{"enabled":true}`},
		"a model that was not there":    {&sdk.SmallModelValue{}, []sdk.Change{change("/model/modelID", `"m"`)}, "/model", `{"providerID":"","modelID":"m"}`},
		"spaces in the value are gone":  {&sdk.CommandValue{Parts: sdk.Parts{tool("p", running)}}, []sdk.Change{change("/parts/0/state/input", "{ \"a\" : 1 }")}, "/parts/0/state/input", `{"a":1}`},
		"options of a plugin's protoco": {&sdk.Config{}, []sdk.Change{change("/provider/p/options/region", `"eu"`)}, "/provider/p/options", `{"region":"eu"}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := value.Apply(c.value, c.changes); err != nil {
				t.Fatal(err)
			}
			got, err := value.Lookup(c.value, c.look)
			if err != nil || string(got) != c.want {
				t.Errorf("Lookup(%q) = %s, %v, want %s", c.look, got, err, c.want)
			}
		})
	}
}

// TestApplyRefuses checks that an error names the pointer, wraps ErrWire and leaves the value as it was,
// the changes before the bad one included.
func TestApplyRefuses(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change sdk.Change
		cause  string
	}{
		"no pointer":           {change("messages", `1`), "JSON pointer"},
		"no field":             {change("/nope", `1`), "no such field"},
		"no JSON":              {change("/messages", `{`), "not JSON"},
		"no value":             {sdk.Change{Pointer: "/messages"}, "not JSON"},
		"value and removal":    {sdk.Change{Pointer: "/messages", Value: json.RawMessage(`1`), Remove: true}, "both"},
		"wrong type":           {change("/messages", `"x"`), "want a list, have string"},
		"wrong type inside":    {change("/messages/0/parts/0", `{"type":"text","text":5}`), "text: want a string, have number"},
		"no whole number":      {change("/messages/0/parts/0/time", `{"start":1.5}`), "start: want a whole number, have number 1.5"},
		"index too large":      {change("/messages/9/info", `{}`), "no element 9"},
		"gap":                  {change("/messages/5", `{}`), "no element 5"},
		"removed too far":      {change("/messages/4", ``), "no element 4"},
		"no index":             {change("/messages/x", `{}`), "not an array index"},
		"leading zero":         {change("/messages/00", `{}`), "not an array index"},
		"negative":             {change("/messages/-1", `{}`), "not an array index"},
		"id of a part":         {change("/messages/0/parts/0/id", `"x"`), "id of a part"},
		"type of a part":       {change("/messages/0/parts/0/type", `"x"`), "type of a part"},
		"role of a message":    {change("/messages/0/info/role", `"assistant"`), "role of a part or a message"},
		"null part":            {change("/messages/0/parts/0", `null`), "null where"},
		"null message":         {change("/messages/0/info", `null`), "null where"},
		"null in parts":        {change("/messages/0/parts", `[null]`), "null"},
		"part without type":    {change("/messages/0/parts/0", `[]`), "no JSON object"},
		"below a string":       {change("/messages/0/parts/0/text/x", `1`), "no members"},
		"below a number":       {change("/messages/1/parts/2/state/metadata/lines/x", `1`), "no members"},
		"required":             {change("/messages/0/parts/0/text", ``), "required"},
		"the whole":            {change("", ``), "cannot be removed"},
		"bad status":           {change("/messages/1/parts/2/state/status", `"lost"`), "unknown status"},
		"another type of part": {change("/messages/1/parts/2/state/attachments/0", `{"type":"text"}`), `type "text"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := toolValue()
			before := encode(t, v)
			err := value.Apply(v, []sdk.Change{change("/messages/0/parts/0/text", `"first"`), c.change})
			if !errors.Is(err, sdk.ErrWire) {
				t.Fatalf("Apply = %v, want an error that wraps ErrWire", err)
			}
			if !strings.Contains(err.Error(), c.cause) || !strings.Contains(err.Error(), `"`+c.change.Pointer+`"`) {
				t.Errorf("error %q does not name pointer %q and cause %q", err, c.change.Pointer, c.cause)
			}
			if got := encode(t, v); got != before {
				t.Errorf("the value was changed:\n%s\nwant %s", got, before)
			}
		})
	}
}

// TestApplyKeepsMessage checks that a change of a whole value must not take away the message that the value is about.
func TestApplyKeepsMessage(t *testing.T) {
	t.Parallel()
	for _, whole := range []string{"null", "{}", `{"message":null,"parts":[]}`} {
		v := &sdk.ChatMessageValue{Message: &sdk.UserMessage{}}
		if err := value.Apply(v, []sdk.Change{change("", whole)}); !errors.Is(err, sdk.ErrWire) || v.Message == nil {
			t.Errorf("%s: error %v, message %v: want the change refused", whole, err, v.Message)
		}
	}
}

// FuzzApply checks that whatever a plugin answers is applied or refused, all or nothing, and that the
// outcome still has a JSON.
func FuzzApply(f *testing.F) {
	for _, c := range []sdk.Change{
		change("/messages/1/parts/2/state/input/filePath", `"x"`), change("/messages/0/info/time/zone", `{"a":[1]}`),
		change("/messages/1/parts/2/state", `{"status":"running","input":{},"time":{"start":1,"x":2}}`),
		change("/messages/0", ``), change("/messages/1/parts/2/state/attachments", `[null]`), change("/messages/0/parts/9/id", `"x"`),
		change("", `{"messages":[{"info":{"role":"user"},"parts":[{"type":"tool","state":{"status":"pending"}}]}]}`),
		change("/messages/0/info/tools/a", `true`), change("/messages/0/info/summary/diffs/0/x", `1`),
	} {
		f.Add(c.Pointer, []byte(c.Value), c.Remove, "/messages/0/info/agent", []byte(`"a"`))
	}
	f.Add("/messages/0/info/summary/x", []byte(`1`), false, "/messages/0/info/y", []byte("\"not UTF-8: \x84\""))
	f.Fuzz(func(t *testing.T, pointer string, raw []byte, remove bool, second string, secondRaw []byte) {
		v := toolValue()
		before := encode(t, v)
		changes := []sdk.Change{{Pointer: pointer, Value: raw, Remove: remove}, {Pointer: second, Value: secondRaw}}
		if remove {
			changes[0].Value = nil
		}
		if err := value.Apply(v, changes); err != nil {
			if !errors.Is(err, sdk.ErrWire) {
				t.Fatalf("error %v does not wrap ErrWire", err)
			}
			if got := encode(t, v); got != before {
				t.Fatalf("a refused change left %s", got)
			}
			return
		}
		encode(t, v)
		for _, m := range v.Messages {
			if m.Info == nil {
				t.Fatal("a message is gone")
			}
			for _, p := range m.Parts {
				p.Head()
			}
		}
		old := toolValue()
		changes, err := value.Diff[sdk.Change](old, v)
		if err != nil {
			t.Fatal(err)
		}
		if err := value.Apply(old, changes); err != nil {
			t.Fatal(err)
		}
		if got, want := canonical(t, old), canonical(t, v); got != want {
			t.Fatalf("Apply(Diff) = %s\nwant %s", got, want)
		}
	})
}

func TestRestrict(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		changes []sdk.Change
		writes  []string
		kept    []sdk.Change
		dropped []string
	}{
		"everything may":     {[]sdk.Change{change("/a", `1`)}, []string{""}, []sdk.Change{change("/a", `1`)}, nil},
		"nothing may":        {[]sdk.Change{change("/a", `1`)}, nil, nil, []string{"/a"}},
		"declared and not":   {[]sdk.Change{change("/a", `1`), change("/b", `2`)}, []string{"/b"}, []sdk.Change{change("/b", `2`)}, []string{"/a"}},
		"object above":       {[]sdk.Change{change("/o", `{"y/z":2,"x":1}`)}, []string{"/o/y~1z"}, []sdk.Change{change("/o/y~1z", `2`)}, []string{"/o/x"}},
		"object deep above":  {[]sdk.Change{change("", `{"o":{"x":1},"p":2}`)}, []string{"/o/x"}, []sdk.Change{change("/o/x", `1`)}, []string{"/p"}},
		"object without one": {[]sdk.Change{change("/o", `{"y":2}`)}, []string{"/o/x"}, nil, []string{"/o"}},
		"removed above":      {[]sdk.Change{change("/o", "")}, []string{"/o/x"}, nil, []string{"/o"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kept, dropped := value.Restrict(c.changes, c.writes)
			if !reflect.DeepEqual(kept, c.kept) || !slices.Equal(dropped, c.dropped) {
				t.Errorf("Restrict kept %v and dropped %q, want %v and %q", kept, dropped, c.kept, c.dropped)
			}
		})
	}
}

func TestSelect(t *testing.T) {
	t.Parallel()
	v := &sdk.ChatMessagesValue{Messages: conversation(2).Messages}
	v.Messages[1].Parts[2].(*sdk.ToolPart).State.Output = "out"
	half := 0.5
	params := &sdk.ChatParams{Temperature: &half, Options: sdk.Object{"a": map[string]any{"x": 1.0, "y": 2.0}, "b": []any{1.0, map[string]any{"x": 1.0}}}}
	unknown, err := sdk.DecodePart([]byte(`{"type":"future","id":"f","deep":{"n":1},"more":2}`))
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		value  any
		fields []string
		want   string
	}{
		"nothing":         {params, nil, `{}`},
		"whole":           {params, []string{""}, encode(t, params)},
		"a field":         {params, []string{"/temperature"}, `{"temperature":0.5}`},
		"a missing field": {params, []string{"/topP", "/nope"}, `{}`},
		"in an object":    {params, []string{"/options/a/x"}, `{"options":{"a":{"x":1}}}`},
		"any member":      {params, []string{"/options/*/x"}, `{"options":{"a":{"x":1},"b":[null,{}]}}`},
		"any element":     {params, []string{"/options/b/*/x"}, `{"options":{"b":[null,{"x":1}]}}`},
		"two fields":      {params, []string{"/options/a", "/options/*/y", "/temperature"}, `{"temperature":0.5,"options":{"a":{"x":1,"y":2},"b":[null,{}]}}`},
		"a nil object":    {&sdk.ChatParams{}, []string{"/options/a"}, `{"options":null}`},
		"strings":         {&sdk.ChatSystemValue{System: []string{"a", "b"}}, []string{"/system/1"}, `{"system":[null,"b"]}`},
		"a map":           {&sdk.ShellEnvValue{Env: map[string]string{"A": "1", "B": "2"}}, []string{"/env/B"}, `{"env":{"B":"2"}}`},
		"texts": {v, []string{"/messages/*/parts/*/text"}, `{"messages":[` +
			`{"info":{"role":"user","id":"msg_u"},"parts":[{"type":"text","id":"prt_u","text":"please fix the test"}]},` +
			`{"info":{"role":"assistant","id":"msg_a"},"parts":[{"type":"step-start","id":"prt_1"},{"type":"text","id":"prt_2","text":"I will read the file."},` +
			`{"type":"tool","id":"prt_3"},{"type":"step-finish","id":"prt_4"}]}]}`},
		"outputs of one message": {v, []string{"/messages/1/parts/*/state/output"}, `{"messages":[` +
			`{"info":{"role":"user","id":"msg_u"}},` +
			`{"info":{"role":"assistant","id":"msg_a"},"parts":[{"type":"step-start","id":"prt_1"},{"type":"text","id":"prt_2"},` +
			`{"type":"tool","id":"prt_3","state":{"status":"completed","output":"out"}},{"type":"step-finish","id":"prt_4"}]}]}`},
		"below raw JSON": {v, []string{"/messages/1/parts/2/state/input/filePath"}, `{"messages":[` +
			`{"info":{"role":"user","id":"msg_u"}},` +
			`{"info":{"role":"assistant","id":"msg_a"},"parts":[{"type":"step-start","id":"prt_1"},{"type":"text","id":"prt_2"},` +
			`{"type":"tool","id":"prt_3","state":{"status":"completed","input":{"filePath":"go.mod"}}},{"type":"step-finish","id":"prt_4"}]}]}`},
		"unknown field without a name": {&sdk.SessionInput{Session: sdk.Session{Extra: sdk.Extra{"": json.RawMessage(`1`)}}}, []string{"/session/"}, `{"session":{"":1}}`},
		"unknown part":                 {&sdk.CommandValue{Parts: sdk.Parts{unknown}}, []string{"/parts/*/deep"}, `{"parts":[{"type":"future","id":"f","deep":{"n":1}}]}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := value.Select(c.value, c.fields)
			if err != nil || string(got) != c.want {
				t.Errorf("Select = %s, %v\nwant     %s", got, err, c.want)
			}
		})
	}
}

// TestSelectDecodes checks that a guest can decode what it is sent, whatever it declared, and that a change it then
// makes fits the host's value.
func TestSelectDecodes(t *testing.T) {
	t.Parallel()
	for _, p := range hookpoint.All() {
		if p.NewValue == nil {
			continue
		}
		for seed := range uint64(25) {
			g := newGenerator(seed)
			v := g.value(p.NewValue())
			var fields []string
			changes, err := value.Diff[sdk.Change](v, g.value(p.NewValue()))
			if err != nil {
				t.Fatal(err)
			}
			for i, c := range changes {
				if i%3 == 0 {
					fields = append(fields, c.Pointer)
				}
			}
			raw, err := value.Select(v, fields)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(raw, p.NewValue()); err != nil {
				t.Fatalf("%s: decode of fields %q: %v\n%s", p.Point, fields, err, raw)
			}
		}
	}
}
