package value_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
)

// wireSamples are objects of every kind with unknown fields at every level, as another version writes them.
var wireSamples = []string{
	`{"type":"text","id":"p","sessionID":"s","messageID":"m","text":"<b> & é","time":{"start":1,"end":2,"zone":"CET"},"metadata":{"n":12345678901234567890},"new":{"a":[1,2.50,1e3]}}`,
	`{"id":"p","sessionID":"s","messageID":"m","text":"t","time":{"start":1},"type":"reasoning","signature":null}`,
	`{"type":"file","id":"p","sessionID":"s","messageID":"m","mime":"m","url":"data:,x","source":{"type":"symbol","path":"a","kind":3,"range":{"start":{"line":1}},"text":{"value":"v","start":0,"end":1,"x":true}}}`,
	`{"type":"agent","id":"p","sessionID":"s","messageID":"m","name":"n","source":{"value":"v","start":0,"end":1,"more":1}}`,
	`{"type":"tool","id":"p","sessionID":"s","messageID":"m","callID":"c","tool":"t","new":1,"state":{"status":"pending","input":{},"raw":"{\"a","eager":true}}`,
	`{"type":"tool","id":"p","sessionID":"s","messageID":"m","callID":"c","tool":"t","state":{"status":"running","input":{"z":1,"a":2},"time":{"start":5,"cpu":7},"progress":[1]}}`,
	`{"type":"tool","id":"p","sessionID":"s","messageID":"m","callID":"c","tool":"t","state":{"status":"completed","input":{},"output":"o","title":"t","metadata":{"big":1e400},"time":{"start":5,"end":6},"attachments":[{"type":"file","id":"q","sessionID":"s","messageID":"m","mime":"m","url":"u","alt":"x"}]}}`,
	`{"type":"tool","id":"p","sessionID":"s","messageID":"m","callID":"c","tool":"t","state":{"status":"error","input":{},"error":"e","time":{"start":5,"end":6},"code":{"n":3}}}`,
	`{"type":"step-start","id":"p","sessionID":"s","messageID":"m","x":1}`,
	`{"type":"step-finish","id":"p","sessionID":"s","messageID":"m","reason":"stop","cost":0.000000000001,"tokens":{"input":1,"output":2,"reasoning":0,"cache":{"read":1,"write":0,"hot":9},"audio":4}}`,
	`{"type":"snapshot","id":"p","sessionID":"s","messageID":"m","snapshot":"h","x":{}}`,
	`{"type":"patch","id":"p","sessionID":"s","messageID":"m","hash":"h","files":["a"],"x":[]}`,
	`{"type":"subtask","id":"p","sessionID":"s","messageID":"m","prompt":"p","description":"d","agent":"a","model":{"providerID":"p","modelID":"m","tier":"t"}}`,
	`{"type":"compaction","id":"p","sessionID":"s","messageID":"m","auto":true,"x":"y"}`,
	`{"type":"retry","id":"p","sessionID":"s","messageID":"m","attempt":1,"error":{"name":"APIError","data":{"message":"m","isRetryable":false,"x":1},"y":2},"time":{"created":1,"z":3}}`,
	`{"type":"hologram","id":"p","sessionID":"s","messageID":"m","rays":[{"n":12345678901234567890}]}`,
	`{"type":"text","id":"p","sessionID":"s","messageID":"m","text":"t","Text":"another","TEXT":5,"time":{"start":1,"Start":"x"}}`,
	`{"role":"user","id":"m","sessionID":"s","time":{"created":1,"x":1},"agent":"a","model":{"providerID":"p","modelID":"m","x":2},"summary":{"diffs":[{"additions":1,"deletions":2,"hunks":[1]},{"additions":1,"deletions":2},{"additions":1,"deletions":2,"hunks":[2]}],"x":3},"format":{"type":"text","x":4},"x":5}`,
	`{"role":"assistant","id":"m","sessionID":"s","parentID":"u","modelID":"m","providerID":"p","mode":"a","agent":"a","path":{"cwd":"/","root":"/","home":"/"},"cost":1.5,"tokens":{"input":1,"output":2,"reasoning":0,"cache":{"read":0,"write":0}},"time":{"created":1},"error":{"name":"Odd","data":{"why":"x"},"x":1},"structured":{"b":1,"a":2},"x":6}`,
	`{"role":"narrator","id":"m","sessionID":"s","voice":{"pitch":1}}`,
	`{"id":"s","slug":"a-b","projectID":"p","directory":"/","title":"t","version":"1","cost":0,"tokens":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}},"summary":{"additions":1,"deletions":0,"files":1,"diffs":[{"additions":0,"deletions":0,"x":1}]},"share":{"url":"u","secret":"s"},"permission":[{"permission":"a","pattern":"*","action":"ask","until":5}],"revert":{"messageID":"m","x":1},"time":{"created":1,"updated":2,"seen":3},"x":7}`,
	`{"id":"e","type":"todo.updated","properties":{"sessionID":"s","todos":[{"content":"a","Content":"b","status":"s","priority":"p"},{"CONTENT":1,"content":"c","status":"s","priority":"p"}]}}`,
	`{"id":"e","type":"todo.updated","properties":{"sessionID":"s","todos":[{"content":"a","status":"s","priority":"p","due":1},{"content":"b","status":"s","priority":"p"}],"x":1},"y":2}`,
	`{"id":"e","type":"session.status","properties":{"sessionID":"s","status":{"type":"idle","since":1},"x":1}}`,
	`{"id":"e","type":"message.part.updated","properties":{"sessionID":"s","part":{"type":"text","id":"p","sessionID":"s","messageID":"m","text":"t","x":1},"time":1,"x":2}}`,
	`{"id":"e","type":"message.updated","properties":{"sessionID":"s","info":{"role":"narrator","id":"m","sessionID":"s","x":1},"x":2}}`,
	`{"id":"e","type":"question.asked","properties":{"id":"q","sessionID":"s","questions":[{"question":"q","header":"h","options":[{"label":"l","description":"d","icon":"i"}],"x":1}],"tool":{"messageID":"m","callID":"c","x":2}}}`,
	`{"id":"e","type":"galaxy.formed","properties":{"stars":12345678901234567890},"x":1}`,
	`{"id":"e","type":"session.error","properties":{"error":{"name":"N","data":{"message":"m","x":1},"y":1},"z":1}}`,
}

// decodeWire decodes a sample as what it is.
func decodeWire(data []byte) (any, error) {
	var probe struct {
		Role, Type *string
		Properties json.RawMessage
		Slug       *string
	}
	if err := json.Unmarshal(data, &probe); err != nil {
		probe.Type = new(string)
	}
	switch {
	case probe.Properties != nil:
		e := &sdk.Event{}
		return e, json.Unmarshal(data, e)
	case probe.Slug != nil:
		s := &sdk.Session{}
		return s, json.Unmarshal(data, s)
	case probe.Role != nil:
		return sdk.DecodeMessage(data)
	}
	return sdk.DecodePart(data)
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, sample := range wireSamples {
		t.Run(sample[:min(50, len(sample))], func(t *testing.T) {
			t.Parallel()
			v, err := decodeWire([]byte(sample))
			if err != nil {
				t.Fatal(err)
			}
			got := encode(t, v)
			if diff := cmp.Diff(decodeExact(t, []byte(sample)), decodeExact(t, []byte(got))); diff != "" {
				t.Errorf("after a round trip (-want +got):\n%s", diff)
			}
			if again := encode(t, value.Clone(v)); again != got {
				t.Errorf("the copy encodes to %s\nwant %s", again, got)
			}
		})
	}
}

// FuzzWire checks that decoding never panics, that errors wrap ErrWire or come from encoding/json, that
// what was decoded encodes to a fixed point, and that no unknown field of the top level is lost.
func FuzzWire(f *testing.F) {
	for _, sample := range wireSamples {
		f.Add([]byte(sample))
	}
	f.Add([]byte(`{"`))
	f.Add([]byte(`{"0`))
	f.Add([]byte(`{"type":1`))
	f.Add([]byte(`{"role":"user","role":1}`))
	f.Add([]byte(`{"type":"tool","state":{"status":"completed","attachments":[null]}}`))
	f.Add([]byte(`{"":"","properties":{}}`))
	f.Add([]byte(`{"type":"text","Type":"x","te\u0078t":"a","text":"b"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := decodeWire(data)
		if err != nil {
			return
		}
		first := encode(t, v)
		w, err := decodeWire([]byte(first))
		if err != nil {
			t.Fatalf("decode of what was encoded: %v\n%s", err, first)
		}
		if reflect.TypeOf(v) != reflect.TypeOf(w) {
			t.Fatalf("%T came back as %T", v, w)
		}
		if second := encode(t, w); second != first {
			t.Fatalf("no fixed point:\n%s\n%s", first, second)
		}
		checkUnknown(t, v, data, first)
	})
}

// checkUnknown checks that the fields that v has no place for are in its JSON.
func checkUnknown(t *testing.T, v any, data []byte, encoded string) {
	t.Helper()
	extra := reflect.ValueOf(v).Elem().FieldByName("Extra")
	was, ok := decodeExact(t, data).(map[string]any)
	if !ok || !extra.IsValid() || hasDuplicates(data) {
		return
	}
	is, _ := decodeExact(t, []byte(encoded)).(map[string]any)
	known := map[string]bool{"type": true, "role": true}
	for _, f := range reflect.VisibleFields(reflect.TypeOf(v).Elem()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		known[name] = true
	}
	for name, value := range was {
		if !known[name] && !cmp.Equal(value, is[name]) {
			t.Fatalf("field %q = %v, was %v", name, is[name], value)
		}
	}
}

// hasDuplicates reports whether an object in data names a field twice: which one counts is not defined.
func hasDuplicates(data []byte) bool {
	dec := json.NewDecoder(strings.NewReader(string(data)))
	var stack []map[string]bool
	var keys []bool
	for {
		token, err := dec.Token()
		if err != nil {
			return false
		}
		switch token {
		case json.Delim('{'):
			stack, keys = append(stack, map[string]bool{}), append(keys, true)
			continue
		case json.Delim('['):
			stack, keys = append(stack, nil), append(keys, false)
			continue
		case json.Delim('}'), json.Delim(']'):
			stack, keys = stack[:len(stack)-1], keys[:len(keys)-1]
		default:
			if top := len(stack) - 1; top >= 0 && stack[top] != nil && keys[top] {
				name := fmt.Sprint(token)
				if stack[top][name] {
					return true
				}
				stack[top][name] = true
				keys[top] = false
				continue
			}
		}
		if top := len(stack) - 1; top >= 0 && stack[top] != nil {
			keys[top] = true
		}
	}
}

func TestListExtrasFollowTheirElement(t *testing.T) {
	t.Parallel()
	var s sdk.Session
	data := `{"id":"s","permission":[{"permission":"a","pattern":"*","action":"ask","x":1},{"permission":"b","pattern":"*","action":"ask","x":2},{"permission":"b","pattern":"*","action":"ask"}]}`
	if err := json.Unmarshal([]byte(data), &s); err != nil {
		t.Fatal(err)
	}
	s.Permission = slices.Insert(s.Permission[1:], 0, sdk.PermissionRule{Permission: "new", Pattern: "*", Action: sdk.ActionAllow})
	got, err := value.Lookup(&s, "/permission")
	want := `[{"permission":"new","pattern":"*","action":"allow"},{"permission":"b","pattern":"*","action":"ask","x":2},{"permission":"b","pattern":"*","action":"ask"}]`
	if err != nil || string(got) != want {
		t.Errorf("permission = %s, %v\nwant %s", got, err, want)
	}
}

func TestUnknownKeepsNewIdentifiers(t *testing.T) {
	t.Parallel()
	p, err := sdk.DecodePart([]byte(`{"type":"future","id":"a","n":1,"sessionID":"s"}`))
	if err != nil {
		t.Fatal(err)
	}
	p.Head().ID, p.Head().MessageID = "b", "m"
	if got, want := encode(t, p), `{"type":"future","id":"b","n":1,"sessionID":"s","messageID":"m"}`; got != want {
		t.Errorf("part = %s, want %s", got, want)
	}
	m, err := sdk.DecodeMessage([]byte(`{"role":"narrator","id":"a"}`))
	if err != nil {
		t.Fatal(err)
	}
	m.Head().SessionID = "s"
	if got, want := encode(t, m), `{"role":"narrator","id":"a","sessionID":"s"}`; got != want {
		t.Errorf("message = %s, want %s", got, want)
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	part := func(data string) error { _, err := sdk.DecodePart([]byte(data)); return err }
	message := func(data string) error { _, err := sdk.DecodeMessage([]byte(data)); return err }
	into := func(v any) func(string) error {
		return func(data string) error { return json.Unmarshal([]byte(data), v) }
	}
	cases := map[string]struct {
		decode func(string) error
		data   string
	}{
		"no JSON":             {part, `{"type":"text"`},
		"empty":               {part, ``},
		"null":                {part, `null`},
		"array":               {part, `[]`},
		"wrong field":         {part, `{"type":"text","text":1}`},
		"unknown, wrong id":   {part, `{"type":"future","id":1}`},
		"unknown status":      {part, `{"type":"tool","state":{"status":"lost"}}`},
		"null attachment":     {part, `{"type":"tool","state":{"status":"completed","attachments":[null]}}`},
		"null message":        {message, `null`},
		"message, wrong role": {into(&sdk.UserMessage{}), `{"role":"assistant"}`},
		"part, type a number": {into(&sdk.FilePart{}), `{"type":1}`},
		"part, wrong type":    {into(&sdk.FilePart{}), `{"type":"text"}`},
		"null in parts":       {into(&sdk.Parts{}), `[null]`},
		"parts":               {into(&sdk.Parts{}), `{}`},
		"event":               {into(&sdk.Event{}), `{"type":"session.idle","properties":[]}`},
		"event without part":  {into(&sdk.Event{}), `{"type":"message.part.updated","properties":{"sessionID":"s"}}`},
		"object":              {into(&sdk.Object{}), `[]`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := c.decode(c.data); !errors.Is(err, sdk.ErrWire) {
				t.Errorf("decode %s = %v, want an error that wraps ErrWire", c.data, err)
			}
		})
	}
}

func TestToolStateJSON(t *testing.T) {
	t.Parallel()
	all := sdk.ToolState{
		Input: json.RawMessage(`{"a":1}`), Raw: "raw", Title: "title", Output: "output", Error: "error",
		Metadata: sdk.Object{"m": 1.0}, Time: sdk.ToolTime{Start: 1, End: 2},
		Attachments: []*sdk.FilePart{{Mime: "m", URL: "u"}},
	}
	cases := map[string]struct {
		status sdk.ToolStatus
		full   string
		empty  string
	}{
		"pending":   {sdk.ToolPending, `{"status":"pending","input":{"a":1},"raw":"raw"}`, `{"status":"pending","input":{},"raw":""}`},
		"running":   {sdk.ToolRunning, `{"status":"running","input":{"a":1},"title":"title","metadata":{"m":1},"time":{"start":1,"end":2}}`, `{"status":"running","input":{},"time":{"start":0}}`},
		"completed": {sdk.ToolCompleted, `{"status":"completed","input":{"a":1},"output":"output","title":"title","metadata":{"m":1},"time":{"start":1,"end":2},"attachments":[{"type":"file","id":"","sessionID":"","messageID":"","mime":"m","url":"u"}]}`, `{"status":"completed","input":{},"output":"","title":"","metadata":{},"time":{"start":0}}`},
		"error":     {sdk.ToolError, `{"status":"error","input":{"a":1},"error":"error","metadata":{"m":1},"time":{"start":1,"end":2}}`, `{"status":"error","input":{},"error":"","time":{"start":0}}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			full := all
			full.Status = c.status
			if got := encode(t, full); got != c.full {
				t.Errorf("full = %s\nwant   %s", got, c.full)
			}
			if got := encode(t, sdk.ToolState{Status: c.status}); got != c.empty {
				t.Errorf("empty = %s\nwant    %s", got, c.empty)
			}
			var back sdk.ToolState
			if err := json.Unmarshal([]byte(c.full), &back); err != nil {
				t.Fatal(err)
			}
			if got := encode(t, back); got != c.full || back.Extra != nil {
				t.Errorf("decoded and encoded = %s with extra %v\nwant %s", got, back.Extra, c.full)
			}
		})
	}
	if _, err := json.Marshal(sdk.ToolState{}); err == nil {
		t.Error("a state without a status encodes")
	}
}

func TestNamedErrorJSON(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ in, want string }{
		"API error names isRetryable": {`{"name":"APIError","data":{"message":"m"}}`, `{"name":"APIError","data":{"message":"m","isRetryable":false}}`},
		"retryable":                   {`{"name":"APIError","data":{"message":"m","isRetryable":true}}`, `{"name":"APIError","data":{"message":"m","isRetryable":true}}`},
		"API error with unknown data": {`{"name":"APIError","data":{"message":"m","isRetryable":false,"x":1}}`, `{"name":"APIError","data":{"message":"m","x":1,"isRetryable":false}}`},
		"no data":                     {`{"name":"MessageOutputLengthError","data":{}}`, `{"name":"MessageOutputLengthError","data":{}}`},
		"unknown name":                {`{"name":"New","data":{"x":[1]}}`, `{"name":"New","data":{"x":[1]}}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var e sdk.NamedError
			if err := json.Unmarshal([]byte(c.in), &e); err != nil {
				t.Fatal(err)
			}
			if got := encode(t, e); got != c.want {
				t.Errorf("encoded = %s, want %s", got, c.want)
			}
		})
	}
	if got := (&sdk.NamedError{Name: "N"}).Error(); got != "N" {
		t.Errorf("Error without a message = %q, want the name", got)
	}
}

func TestPermissionRulesForms(t *testing.T) {
	t.Parallel()
	rule := func(permission, pattern string, action sdk.Action) sdk.PermissionRule {
		return sdk.PermissionRule{Permission: permission, Pattern: pattern, Action: action}
	}
	cases := map[string]struct {
		in   string
		want sdk.PermissionRules
	}{
		"null":        {`null`, nil},
		"an action":   {`"ask"`, sdk.PermissionRules{rule("*", "*", "ask")}},
		"a map":       {`{"z":"deny","*":"allow","a":"ask"}`, sdk.PermissionRules{rule("z", "*", "deny"), rule("*", "*", "allow"), rule("a", "*", "ask")}},
		"patterns":    {`{"bash":{"rm *":"deny","*":"ask","ls":"allow"},"edit":"deny"}`, sdk.PermissionRules{rule("bash", "rm *", "deny"), rule("bash", "*", "ask"), rule("bash", "ls", "allow"), rule("edit", "*", "deny")}},
		"a list":      {`[{"permission":"b","pattern":"x","action":"ask"},{"permission":"a","pattern":"*","action":"deny"}]`, sdk.PermissionRules{rule("b", "x", "ask"), rule("a", "*", "deny")}},
		"escaped key": {`{"bas\u0068":{"\u0072m \"*\"":"deny"}}`, sdk.PermissionRules{rule("bash", `rm "*"`, "deny")}},
		"an empty":    {` { } `, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got sdk.PermissionRules
			if err := json.Unmarshal([]byte(c.in), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("rules (-want +got):\n%s", diff)
			}
			var back sdk.PermissionRules
			if err := json.Unmarshal([]byte(encode(t, got)), &back); err != nil || !cmp.Equal(back, got) {
				t.Errorf("after a round trip: %v, %v", back, err)
			}
		})
	}
	for name, in := range map[string]string{"number": `1`, "action": `"maybe"`, "nested": `{"bash":{"ls":{"x":"ask"}}}`, "value": `{"bash":1}`} {
		var r sdk.PermissionRules
		if err := json.Unmarshal([]byte(in), &r); !errors.Is(err, sdk.ErrWire) {
			t.Errorf("%s: decode %s = %v, want an error that wraps ErrWire", name, in, err)
		}
	}
}

// TestToolPartSplicesState checks that a tool part, which puts its JSON together by hand, looks no other
// than encoding/json would make it.
func TestToolPartSplicesState(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		g := newGenerator(seed)
		p := g.value(&sdk.ToolPart{}).(*sdk.ToolPart)
		p.Extra, p.State.Extra = nil, nil
		if seed%3 == 0 {
			p.State.Input = json.RawMessage(" { \"a\" : [ 1 , \"<\" ] }\n")
		}
		got, err := p.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		want := encode(t, struct {
			Type string `json:"type"`
			sdk.PartHead
			CallID   string        `json:"callID"`
			Tool     string        `json:"tool"`
			Metadata sdk.Object    `json:"metadata,omitempty"`
			State    sdk.ToolState `json:"state"`
		}{p.Type(), p.PartHead, p.CallID, p.Tool, p.Metadata, p.State})
		if string(got) != want {
			t.Fatalf("part = %s\nwant   %s", got, want)
		}
	}
}

func BenchmarkPart(b *testing.B) {
	p := benchTool()
	data := []byte(encode(b, p))
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if _, err := sdk.DecodePart(data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if _, err := json.Marshal(p); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encode to store", func(b *testing.B) { // json.Marshal would check and copy what this returns
		b.ReportAllocs()
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if _, err := p.MarshalJSON(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// A part of an unknown type may have any number of fields.
func TestUnknownWithManyFields(t *testing.T) {
	t.Parallel()
	var fields strings.Builder
	for i := range 200_000 { // minutes, if each field copied the others
		fmt.Fprintf(&fields, `,"f%d":%d`, i, i)
	}
	p, err := sdk.DecodePart([]byte(`{"type":"future","id":"a"` + fields.String() + `}`))
	if err != nil {
		t.Fatal(err)
	}
	p.Head().ID = "b"
	if got := encode(t, p); got != `{"type":"future","id":"b"`+fields.String()+`}` {
		t.Errorf("%.100s has other fields", got)
	}
}
