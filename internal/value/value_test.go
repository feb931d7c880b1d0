package value_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
)

func encode(t testing.TB, v any) string {
	t.Helper()
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatalf("encode %T: %v", v, err)
	}
	return strings.TrimSpace(buf.String())
}

// samples returns a new input and value of every hook point.
func samples() map[string]any {
	out := map[string]any{}
	for _, p := range hookpoint.All() {
		if p.NewValue != nil {
			out[string(p.Point)+" value"] = p.NewValue()
		}
		if p.Point != sdk.PointEvent {
			out[string(p.Point)+" input"] = p.NewInput()
		}
	}
	return out
}

// canonical returns the JSON of v after it was decoded once: {} of a struct that is left out when it is
// zero, for one, does not survive that.
func canonical(t testing.TB, v any) string {
	t.Helper()
	fresh := reflect.New(reflect.TypeOf(v).Elem()).Interface()
	if err := json.Unmarshal([]byte(encode(t, v)), fresh); err != nil {
		t.Fatalf("decode %T: %v", v, err)
	}
	return encode(t, fresh)
}

// checkDiff checks the rules of Clone, Diff and Apply for two values of one type.
func checkDiff(t *testing.T, a, b any) {
	t.Helper()
	jsonA, jsonB := encode(t, a), encode(t, b)
	work := value.Clone(a)
	if got := encode(t, work); got != jsonA {
		t.Fatalf("Clone = %s\nwant %s", got, jsonA)
	}
	changes, err := value.Diff[sdk.Change](a, b)
	if err != nil {
		t.Fatalf("Diff: %v\na = %s\nb = %s", err, jsonA, jsonB)
	}
	if jsonA == jsonB && len(changes) > 0 {
		t.Fatalf("Diff of values with equal JSON = %v", changes)
	}
	shared := reflect.New(reflect.TypeOf(work).Elem())
	shared.Elem().Set(reflect.ValueOf(work).Elem())
	if err := value.Apply(work, changes); err != nil {
		t.Fatalf("Apply: %v\nchanges = %v", err, encode(t, changes))
	}
	if got, want := canonical(t, work), canonical(t, b); got != want {
		t.Fatalf("Apply(Diff) = %s\nwant          %s\nfrom          %s\nchanges = %s", got, want, jsonA, encode(t, changes))
	}
	if got := encode(t, shared.Interface()); got != jsonA {
		t.Fatalf("Apply changed what the value shared with another one:\n%s\nwant %s", got, jsonA)
	}
	if encode(t, a) != jsonA || encode(t, b) != jsonB {
		t.Fatal("an operand was changed")
	}
	for _, c := range changes {
		if c.Remove {
			continue
		}
		got, err := value.Lookup(b, c.Pointer)
		if err != nil {
			t.Fatalf("Lookup(%q): %v", c.Pointer, err)
		}
		if !jsonEqual(t, got, c.Value) && got != nil {
			t.Fatalf("Lookup(%q) = %s, want %s", c.Pointer, got, c.Value)
		}
	}
}

func jsonEqual(t *testing.T, a, b []byte) bool {
	t.Helper()
	return cmp.Equal(decodeExact(t, a), decodeExact(t, b))
}

func decodeExact(t *testing.T, data []byte) any {
	t.Helper()
	var v any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("decode %q: %v", data, err)
	}
	return v
}

func TestDiffApply(t *testing.T) {
	t.Parallel()
	for name, sample := range samples() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(80) {
				g := newGenerator(seed)
				a := g.value(sample)
				checkDiff(t, a, g.value(sample))
				b := value.Clone(a)
				g.mutate(reflect.ValueOf(b).Elem(), 2+int(seed%8))
				checkDiff(t, a, b)
				checkDiff(t, a, value.Clone(a))
			}
		})
	}
}

func FuzzDiffApply(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed, uint8(seed), uint8(3))
	}
	values := []any{}
	for _, p := range hookpoint.All() {
		if p.NewValue != nil {
			values = append(values, p.NewValue())
		}
	}
	f.Fuzz(func(t *testing.T, seed uint64, kind, rate uint8) {
		g := newGenerator(seed)
		a := g.value(values[int(kind)%len(values)])
		b := value.Clone(a)
		g.mutate(reflect.ValueOf(b).Elem(), 2+int(rate%16))
		checkDiff(t, a, b)
	})
}

// TestCloneIsDeep checks that no address is shared, strings and foreign values apart.
func TestCloneIsDeep(t *testing.T) {
	t.Parallel()
	for name, sample := range samples() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(20) {
				a := newGenerator(seed).value(sample)
				seen := map[uintptr]string{}
				addresses(reflect.ValueOf(a), "", func(at uintptr, path string) { seen[at] = path })
				addresses(reflect.ValueOf(value.Clone(a)), "", func(at uintptr, path string) {
					if was, ok := seen[at]; ok {
						t.Fatalf("%s of the copy is %s of the original", path, was)
					}
				})
			}
		})
	}
}

// Go plugins put any value into an object: lists and maps of interfaces are copied, and their contents are shared.
func TestCloneForeignInterfaces(t *testing.T) {
	t.Parallel()
	failure := errors.New("failed")
	c := value.CloneObject(sdk.Object{"list": []error{failure}, "map": map[string]error{"a": failure}, "empty": []error{nil}})
	want := sdk.Object{"list": []error{failure}, "map": map[string]error{"a": failure}, "empty": []error{nil}}
	if !reflect.DeepEqual(c, map[string]any(want)) {
		t.Errorf("CloneObject() = %v, want %v", c, want)
	}
}

func addresses(v reflect.Value, path string, visit func(uintptr, string)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && v.Type().Elem().Size() > 0 {
			visit(v.Pointer(), path)
			addresses(v.Elem(), path, visit)
		}
	case reflect.Interface:
		addresses(v.Elem(), path, visit)
	case reflect.Slice:
		if v.Len() > 0 {
			visit(v.Pointer(), path)
		}
		for i := range v.Len() {
			addresses(v.Index(i), path+"/"+v.Type().String(), visit)
		}
	case reflect.Map:
		if !v.IsNil() {
			visit(v.Pointer(), path)
		}
		for iter := v.MapRange(); iter.Next(); {
			addresses(iter.Value(), path+"/"+iter.Key().String(), visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			addresses(v.Field(i), path+"."+v.Type().Field(i).Name, visit)
		}
	}
}

func TestDiffEqualDoesNotAllocate(t *testing.T) {
	a := conversation(20)
	b := value.Clone(a)
	allocs := testing.AllocsPerRun(20, func() {
		if changes, err := value.Diff[sdk.Change](a, b); changes != nil || err != nil {
			t.Fatal(changes, err)
		}
	})
	if allocs != 0 {
		t.Errorf("Diff of equal values allocates %v times", allocs)
	}
}

func text(id, text string) *sdk.TextPart {
	return &sdk.TextPart{PartHead: sdk.PartHead{ID: id, SessionID: "s", MessageID: "m"}, Text: text}
}

func tool(id string, s sdk.ToolState) *sdk.ToolPart {
	return &sdk.ToolPart{PartHead: sdk.PartHead{ID: id, SessionID: "s", MessageID: "m"}, CallID: "c", Tool: "read", State: s}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	completed := sdk.ToolState{Status: sdk.ToolCompleted, Input: json.RawMessage(`{"a":1}`), Output: "x"}
	other := completed
	other.Output = "y"
	failed := sdk.ToolState{Status: sdk.ToolError, Error: "no"}
	half := 0.5
	cases := map[string]struct {
		before, after any
		want          string
	}{
		"equal":                        {&sdk.ChatParams{}, &sdk.ChatParams{}, `null`},
		"empty is absent":              {&sdk.ToolAfterValue{Attachments: nil}, &sdk.ToolAfterValue{Attachments: []*sdk.FilePart{}}, `null`},
		"nil list of parts is []":      {&sdk.CommandValue{}, &sdk.CommandValue{Parts: sdk.Parts{}}, `null`},
		"int is float64":               {&sdk.ToolBeforeValue{Args: sdk.Object{"n": 1}}, &sdk.ToolBeforeValue{Args: sdk.Object{"n": 1.0}}, `null`},
		"set a pointer":                {&sdk.ChatParams{}, &sdk.ChatParams{Temperature: &half}, `[{"pointer":"/temperature","value":0.5}]`},
		"remove a pointer":             {&sdk.ChatParams{Temperature: &half}, &sdk.ChatParams{}, `[{"pointer":"/temperature","remove":true}]`},
		"nil map":                      {&sdk.ChatParams{}, &sdk.ChatParams{Options: sdk.Object{"a": 1}}, `[{"pointer":"/options","value":{"a":1}}]`},
		"empty map":                    {&sdk.ChatParams{Options: sdk.Object{}}, &sdk.ChatParams{Options: sdk.Object{"a": 1}}, `[{"pointer":"/options/a","value":1}]`},
		"keys in order":                {&sdk.ShellEnvValue{Env: map[string]string{"B": "1", "C": "1"}}, &sdk.ShellEnvValue{Env: map[string]string{"A": "1", "B": "2"}}, `[{"pointer":"/env/A","value":"1"},{"pointer":"/env/B","value":"2"},{"pointer":"/env/C","remove":true}]`},
		"escaped":                      {&sdk.ShellEnvValue{Env: map[string]string{}}, &sdk.ShellEnvValue{Env: map[string]string{"a/b~c": "<"}}, `[{"pointer":"/env/a~1b~0c","value":"<"}]`},
		"one element":                  {&sdk.ChatSystemValue{System: []string{"a", "b"}}, &sdk.ChatSystemValue{System: []string{"a", "c"}}, `[{"pointer":"/system/1","value":"c"}]`},
		"append":                       {&sdk.ChatSystemValue{System: []string{"a"}}, &sdk.ChatSystemValue{System: []string{"a", "b", "c"}}, `[{"pointer":"/system/1","value":"b"},{"pointer":"/system/2","value":"c"}]`},
		"remove from the end":          {&sdk.ChatSystemValue{System: []string{"a", "b", "c"}}, &sdk.ChatSystemValue{System: []string{"a"}}, `[{"pointer":"/system/2","remove":true},{"pointer":"/system/1","remove":true}]`},
		"insert in front":              {&sdk.ChatSystemValue{System: []string{"a"}}, &sdk.ChatSystemValue{System: []string{"b", "a"}}, `[{"pointer":"/system","value":["b","a"]}]`},
		"deep in an object":            {&sdk.ToolBeforeValue{Args: sdk.Object{"a": map[string]any{"b": []any{1.0, 2.0}}}}, &sdk.ToolBeforeValue{Args: sdk.Object{"a": map[string]any{"b": []any{1.0, 3.0}}}}, `[{"pointer":"/args/a/b/1","value":3}]`},
		"another type":                 {&sdk.ToolBeforeValue{Args: sdk.Object{"a": "1"}}, &sdk.ToolBeforeValue{Args: sdk.Object{"a": []string{"1"}}}, `[{"pointer":"/args/a","value":["1"]}]`},
		"text of a part":               {&sdk.CommandValue{Parts: sdk.Parts{text("p", "a")}}, &sdk.CommandValue{Parts: sdk.Parts{text("p", "b")}}, `[{"pointer":"/parts/0/text","value":"b"}]`},
		"output of a tool":             {&sdk.CommandValue{Parts: sdk.Parts{tool("p", completed)}}, &sdk.CommandValue{Parts: sdk.Parts{tool("p", other)}}, `[{"pointer":"/parts/0/state/output","value":"y"}]`},
		"another status":               {&sdk.CommandValue{Parts: sdk.Parts{tool("p", completed)}}, &sdk.CommandValue{Parts: sdk.Parts{tool("p", failed)}}, `[{"pointer":"/parts/0/state","value":{"status":"error","input":{},"error":"no","time":{"start":0}}}]`},
		"another part":                 {&sdk.CommandValue{Parts: sdk.Parts{text("p", "a")}}, &sdk.CommandValue{Parts: sdk.Parts{text("q", "a")}}, `[{"pointer":"/parts/0","value":{"type":"text","id":"q","sessionID":"s","messageID":"m","text":"a"}}]`},
		"unknown field of a part":      {&sdk.CommandValue{Parts: sdk.Parts{text("p", "a")}}, &sdk.CommandValue{Parts: sdk.Parts{&sdk.TextPart{PartHead: text("p", "").PartHead, Text: "a", Extra: sdk.Extra{"x": json.RawMessage(`1`)}}}}, `[{"pointer":"/parts/0/x","value":1}]`},
		"unknown field without a name": {&sdk.SessionInput{}, &sdk.SessionInput{Session: sdk.Session{Extra: sdk.Extra{"": json.RawMessage(`1`)}}}, `[{"pointer":"/session/","value":1}]`},
		"empty metadata of a state":    {&sdk.CommandValue{Parts: sdk.Parts{tool("p", completed)}}, &sdk.CommandValue{Parts: sdk.Parts{tool("p", withMetadata(completed))}}, `[{"pointer":"/parts/0/state/metadata/k","value":"v"}]`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changes, err := value.Diff[sdk.Change](c.before, c.after)
			if err != nil {
				t.Fatal(err)
			}
			if got := encode(t, changes); got != c.want {
				t.Errorf("Diff = %s\nwant   %s", got, c.want)
			}
			checkDiff(t, c.before, c.after)
		})
	}
}

// TestDiffOpaque checks that a type is compared by its JSON if its fields are hidden.
func TestDiffOpaque(t *testing.T) {
	t.Parallel()
	type timed struct {
		At time.Time `json:"at"`
	}
	changes, err := value.Diff[sdk.Change](&timed{At: time.Unix(1, 0).UTC()}, &timed{At: time.Unix(2, 0).UTC()})
	if got := encode(t, changes); err != nil || got != `[{"pointer":"/at","value":"1970-01-01T00:00:02Z"}]` {
		t.Errorf("Diff = %s, %v", got, err)
	}
}

func withMetadata(s sdk.ToolState) sdk.ToolState {
	s.Metadata = sdk.Object{"k": "v"}
	return s
}

func TestDiffRefuses(t *testing.T) {
	t.Parallel()
	cycle := map[string]any{}
	cycle["self"] = cycle
	cases := map[string]struct{ before, after any }{
		"a function": {&sdk.ToolBeforeValue{}, &sdk.ToolBeforeValue{Args: sdk.Object{"f": func() {}}}},
		"a channel beside equal values": {
			&sdk.ToolBeforeValue{Args: sdk.Object{"a": 1, "f": 1}}, &sdk.ToolBeforeValue{Args: sdk.Object{"a": 1, "f": make(chan int)}},
		},
		"a cycle":         {&sdk.ToolBeforeValue{Args: sdk.Object{"self": map[string]any{}}}, &sdk.ToolBeforeValue{Args: cycle}},
		"a part that nil": {&sdk.CommandValue{}, &sdk.CommandValue{Parts: sdk.Parts{nil}}},
		"a typed nil":     {&sdk.CommandValue{Parts: sdk.Parts{text("p", "a")}}, &sdk.CommandValue{Parts: sdk.Parts{(*sdk.TextPart)(nil)}}},
		"no message":      {&sdk.ChatMessageValue{Message: &sdk.UserMessage{}}, &sdk.ChatMessageValue{}},
		"a nil file":      {&sdk.ToolAfterValue{}, &sdk.ToolAfterValue{Attachments: []*sdk.FilePart{nil}}},
		"two types":       {&sdk.ToolAfterValue{}, &sdk.ToolBeforeValue{}},
		"no pointers":     {sdk.ToolAfterValue{}, sdk.ToolAfterValue{}},
		"nil":             {(*sdk.ToolAfterValue)(nil), (*sdk.ToolAfterValue)(nil)},
		"broken raw JSON": {&sdk.CommandValue{Parts: sdk.Parts{text("p", "a")}}, &sdk.CommandValue{Parts: sdk.Parts{&sdk.TextPart{PartHead: text("p", "").PartHead, Extra: sdk.Extra{"x": json.RawMessage(`{`)}}}}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if changes, err := value.Diff[sdk.Change](c.before, c.after); !errors.Is(err, sdk.ErrWire) {
				t.Errorf("Diff = %v, %v, want an error that wraps ErrWire", changes, err)
			}
		})
	}
}

func conversation(n int) *sdk.ChatMessagesValue {
	v := &sdk.ChatMessagesValue{}
	output := strings.Repeat("a line of some output\n", 40)
	for range n / 2 {
		v.Messages = append(v.Messages,
			sdk.MessageWithParts{
				Info:  &sdk.UserMessage{MessageHead: sdk.MessageHead{ID: "msg_u", SessionID: "ses"}, Agent: "build", Time: sdk.MessageTime{Created: 1}},
				Parts: sdk.Parts{text("prt_u", "please fix the test")},
			},
			sdk.MessageWithParts{
				Info: &sdk.AssistantMessage{MessageHead: sdk.MessageHead{ID: "msg_a", SessionID: "ses"}, ParentID: "msg_u", Finish: sdk.FinishToolCalls},
				Parts: sdk.Parts{
					&sdk.StepStartPart{PartHead: sdk.PartHead{ID: "prt_1"}},
					text("prt_2", "I will read the file."),
					tool("prt_3", sdk.ToolState{
						Status: sdk.ToolCompleted, Input: json.RawMessage(`{"filePath":"go.mod"}`), Output: output,
						Title: "go.mod", Metadata: sdk.Object{"lines": 40.0}, Time: sdk.ToolTime{Start: 1, End: 2},
					}),
					&sdk.StepFinishPart{PartHead: sdk.PartHead{ID: "prt_4"}, Reason: "tool-calls"},
				},
			})
	}
	return v
}

func BenchmarkClone400Messages(b *testing.B) {
	v := conversation(400)
	b.ReportAllocs()
	for b.Loop() {
		value.Clone(v)
	}
}

func BenchmarkDiff400Messages(b *testing.B) {
	before := conversation(400)
	b.Run("equal", func(b *testing.B) {
		after := value.Clone(before)
		b.ReportAllocs()
		for b.Loop() {
			if changes, err := value.Diff[sdk.Change](before, after); changes != nil || err != nil {
				b.Fatal(changes, err)
			}
		}
	})
	b.Run("one change", func(b *testing.B) {
		after, _ := value.Clone(before).(*sdk.ChatMessagesValue)
		after.Messages[399].Parts[1].(*sdk.TextPart).Text = "changed"
		b.ReportAllocs()
		for b.Loop() {
			if changes, err := value.Diff[sdk.Change](before, after); len(changes) != 1 || err != nil {
				b.Fatal(changes, err)
			}
		}
	})
}

func BenchmarkCloneChatParams(b *testing.B) {
	half := 0.5
	v := &sdk.ChatParams{Temperature: &half, Options: sdk.Object{"store": false}}
	b.ReportAllocs()
	for b.Loop() {
		value.Clone(v)
	}
}

func BenchmarkApplyOne(b *testing.B) {
	half := 0.5
	v := &sdk.ChatParams{Temperature: &half, Options: sdk.Object{"store": false}}
	changes := []sdk.Change{{Pointer: "/options/seed", Value: json.RawMessage(`42`)}}
	b.ReportAllocs()
	for b.Loop() {
		if err := value.Apply(v, changes); err != nil {
			b.Fatal(err)
		}
	}
}
