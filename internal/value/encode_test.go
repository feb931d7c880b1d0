package value_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
)

// withoutHTML is json.Marshal without HTML escaping.
func withoutHTML(t testing.TB, v any) string {
	t.Helper()
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSuffix(out.Bytes(), []byte("\n")))
}

func checkAnswer(t *testing.T, a *sdk.Answer) {
	t.Helper()
	if got, err := value.AppendJSON([]byte("x"), a); err != nil || string(got) != "x"+withoutHTML(t, a) {
		t.Errorf("AppendJSON(%+v) = %s, %v, want x%s", a, got, err, withoutHTML(t, a))
	}
}

func TestAppendAnswer(t *testing.T) {
	t.Parallel()
	raw := json.RawMessage(`{"a":[1]}`)
	for _, a := range []sdk.Answer{
		{},
		{Changes: []sdk.Change{}},
		{Changes: []sdk.Change{{Pointer: "/a", Value: raw}, {Pointer: "/b", Remove: true}, {}}},
		{Verdict: sdk.VerdictDeny},
		{Verdict: sdk.VerdictContinue, Reason: "r", Message: "m"},
		{Changes: []sdk.Change{{Pointer: "", Value: raw}}, Message: "<m> & \u2028 \x7f é 😀"},
	} {
		checkAnswer(t, &a)
	}
}

func FuzzAppendAnswer(f *testing.F) {
	f.Add("/a", "why", "\x00\x1f\"\\/<>&\u2028\u2029\b\f\n\r\t")
	f.Add("/\xff", "\xe2\x80", "é\xc3😀\u007f\ufffd")
	f.Fuzz(func(t *testing.T, pointer, reason, message string) {
		checkAnswer(t, &sdk.Answer{Changes: []sdk.Change{{Pointer: pointer, Value: json.RawMessage("1")}}, Reason: reason, Message: message})
	})
}

// TestDiffEncodesStrings checks that a changed text is written as its field is.
func TestDiffEncodesStrings(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "a\nb", "<&>", "\u2028", "\xff", "😀"} {
		changes, err := value.Diff[sdk.Change](&sdk.TextCompleteValue{Text: "before"}, &sdk.TextCompleteValue{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		want := []sdk.Change{{Pointer: "/text", Value: json.RawMessage(withoutHTML(t, text))}}
		if diff := cmp.Diff(want, changes); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

// TestAppendJSON checks that values of any type are encoded as encoding/json encodes them, except for HTML characters.
func TestAppendJSON(t *testing.T) {
	t.Parallel()
	type item struct {
		Name    string          `json:"name"`
		Content any             `json:"content"`
		Raw     json.RawMessage `json:"raw,omitempty"`
		Next    *item           `json:"next,omitempty"`
		List    []item          `json:"list"`
		Bytes   []byte          `json:"bytes,omitempty"`
		Number  float64         `json:"number"`
	}
	text := &sdk.TextPart{PartHead: sdk.PartHead{ID: "prt_1"}, Text: "<a> \u2028\n\xff", Extra: sdk.Extra{"x": json.RawMessage(`[1]`)}}
	tool := sdk.ToolPart{CallID: "c", State: sdk.ToolState{Status: sdk.ToolRunning, Input: json.RawMessage(`{"a": "b"}`), Time: sdk.ToolTime{Start: 1}}}
	for _, v := range []any{
		nil, "<é>\n", 1.5, true, json.Number("1e400"), []any{json.Number("12345678901234567890")}, json.RawMessage(` [ 1 ] `), []any{nil, "x", map[string]any{"b": 1, "a": []string{}}},
		item{Content: []item{{Name: "in"}}, Raw: json.RawMessage(`{ }`), Next: &item{}, Bytes: []byte("raw")},
		&item{List: []item{}}, []*item{nil, {}}, (*item)(nil), []item(nil), map[string]*item{"k": {}},
		text, *text, sdk.Parts{text, &tool}, []sdk.Part{&tool}, &tool, tool, tool.State, map[string]sdk.Part{"p": text}, sdk.Object{"part": tool},
		&sdk.UnknownPart{Raw: json.RawMessage(`{"type": "x"}`)}, sdk.Tokens{}, &sdk.Session{ID: "ses_1"},
	} {
		got, err := value.AppendJSON([]byte("x"), v)
		if want := "x" + withoutHTML(t, v); err != nil || string(got) != want {
			t.Errorf("AppendJSON(%T) = %s, %v, want %s", v, got, err, want)
		}
	}
	if got, err := value.AppendJSON(nil, func() {}); err == nil {
		t.Errorf("a function is encoded as %s", got)
	}
}
