package value_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
)

func TestAnswerCheck(t *testing.T) {
	t.Parallel()
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	one := func(pointer, value string) *sdk.Answer {
		return &sdk.Answer{Changes: []sdk.Change{{Pointer: pointer, Value: json.RawMessage(value)}}}
	}
	for name, c := range map[string]struct {
		answer *sdk.Answer
		ok     bool
	}{
		"nothing":                   {&sdk.Answer{}, true},
		"most segments":             {one(strings.Repeat("/a", value.MaxPointerSegments), "1"), true},
		"too many segments":         {one(strings.Repeat("/a", value.MaxPointerSegments+1), "1"), false},
		"longest pointer":           {one("/"+strings.Repeat("a", value.MaxPointerBytes-1), "1"), true},
		"pointer too long":          {one("/"+strings.Repeat("a", value.MaxPointerBytes), "1"), false},
		"deepest value":             {one("/a", nested(value.MaxAnswerDepth)), true},
		"value too deep":            {one("/a", nested(value.MaxAnswerDepth+1)), false},
		"brackets in a text":        {one("/a", `"\"`+strings.Repeat("[", 1000)+`"`), true},
		"no JSON":                   {one("/a", `hello`), true}, // an error of Apply, which says so
		"most changes":              {&sdk.Answer{Changes: make([]sdk.Change, value.MaxAnswerChanges)}, true},
		"too many changes":          {&sdk.Answer{Changes: make([]sdk.Change, value.MaxAnswerChanges+1)}, false},
		"too many bytes":            {one("/a", `"`+strings.Repeat("x", value.MaxAnswerBytes)+`"`), false},
		"longest reason":            {&sdk.Answer{Verdict: sdk.VerdictDeny, Reason: strings.Repeat("x", value.MaxAnswerText)}, true},
		"too many bytes of reason":  {&sdk.Answer{Verdict: sdk.VerdictDeny, Reason: strings.Repeat("x", value.MaxAnswerText+1)}, false},
		"too many bytes of message": {&sdk.Answer{Message: strings.Repeat("x", value.MaxAnswerText+1)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := value.CheckAnswer(c.answer.Changes, c.answer.Reason, c.answer.Message); (err == nil) != c.ok || err != nil && !errors.Is(err, value.ErrBounds) {
				t.Errorf("Check() = %v, want ok: %t", err, c.ok)
			}
		})
	}
}

// TestApplyBounded applies what an answer can hold at most where each change costs as much as the value is large. Without a bound on
// what is read again each of these takes minutes.
func TestApplyBounded(t *testing.T) {
	t.Parallel()
	many := func(format string) []sdk.Change {
		out := make([]sdk.Change, value.MaxAnswerChanges-1)
		for i := range out {
			out[i] = change(fmt.Sprintf(format, i), "1")
		}
		return out
	}
	large := `{"x":"` + strings.Repeat("x", 4<<20) + `"}`
	list := "[" + strings.Repeat("0,", 4<<20) + "0]"
	removals := make([]sdk.Change, value.MaxAnswerChanges-1)
	for i := range removals {
		removals[i] = change("/args/a/0", "")
	}
	part := func() any { return &sdk.CommandValue{Parts: sdk.Parts{&sdk.TextPart{Text: "hello"}}} }
	for name, c := range map[string]struct {
		value   any
		changes []sdk.Change
		fails   bool
	}{
		"members of an unknown field":       {part(), append([]sdk.Change{change("/parts/0/zzz", large)}, many("/parts/0/zzz/k%d")...), true},
		"small members of an unknown field": {part(), many("/parts/0/zzz/k%d"), true},
		"unknown fields":                    {part(), many("/parts/0/k%d"), false},
		"members of a known object":         {&sdk.ChatParams{}, append([]sdk.Change{change("/options/a", large)}, many("/options/a/k%d")...), false},
		"first elements gone":               {&sdk.ToolBeforeValue{}, append([]sdk.Change{change("/args/a", list)}, removals...), true},
		"deep pointer":                      {&sdk.ChatParams{}, []sdk.Change{change("/options"+strings.Repeat("/a", 4_000_000), "1")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := value.Apply(c.value, c.changes); (err != nil) != c.fails || err != nil && !errors.Is(err, value.ErrBounds) {
				t.Errorf("Apply = %v, want an error of the bounds: %t", err, c.fails)
			}
			pointers := make([]string, 0, len(c.changes))
			for _, change := range c.changes[1:] {
				pointers = append(pointers, change.Pointer)
			}
			if _, err := value.LookupAll(c.value, pointers); err != nil && !errors.Is(err, value.ErrBounds) {
				t.Errorf("LookupAll: %v", err)
			}
		})
	}
}

// TestLookupAllOfObject looks members up in a large object that is a Go map: nothing of it is read again.
func TestLookupAllOfObject(t *testing.T) {
	t.Parallel()
	v := &sdk.ChatParams{Options: sdk.Object{"large": strings.Repeat("x", 8<<20), "list": []any{1.0, map[string]any{"a": nil}}}}
	pointers := make([]string, 10_000)
	for i := range pointers {
		pointers[i] = []string{"/options/list/1/a", "/options/list/2", "/options/none/x", "/options/list/0/x"}[i%4]
	}
	found, err := value.LookupAll(v, pointers)
	if err != nil {
		t.Fatal(err)
	}
	if string(found[0]) != "null" || found[1] != nil || found[2] != nil || found[3] != nil {
		t.Errorf("found %s, %s, %s, %s, want null and nothing else", found[0], found[1], found[2], found[3])
	}
}

// TestRestrictOnce restricts objects that took time in proportion to depth times size.
func TestRestrictOnce(t *testing.T) {
	t.Parallel()
	deep := func(n int) string {
		return strings.Repeat(`{"a":`, n) + `"` + strings.Repeat("x", 6<<20) + `"` + strings.Repeat("}", n)
	}
	if kept, dropped := value.Restrict([]sdk.Change{change("", deep(9000))}, []string{"/temperature"}); len(kept) != 0 || len(dropped) != 1 {
		t.Errorf("Restrict kept %d and dropped %q, want nothing and the whole", len(kept), dropped)
	}
	field := strings.Repeat("/a", value.MaxPointerSegments)
	if kept, dropped := value.Restrict([]sdk.Change{change("", deep(value.MaxAnswerDepth))}, []string{field}); len(kept) != 1 || kept[0].Pointer != field || len(dropped) != 0 {
		t.Errorf("Restrict kept %d and dropped %q, want the declared member", len(kept), dropped)
	}
	members := []string{`"x":1`}
	for i := range 100_000 {
		members = append(members, fmt.Sprintf(`"k%d":1`, i))
	}
	object := "{" + strings.Join(members, ",") + "}"
	if _, dropped := value.Restrict([]sdk.Change{change("", object)}, []string{"/x"}); len(dropped) != 65 || dropped[64] != "and 99936 more" {
		t.Errorf("Restrict named %d dropped pointers, the last %q", len(dropped), dropped[len(dropped)-1])
	}
	if kept, _ := value.Restrict([]sdk.Change{change("", object)}, []string{"/*"}); len(kept) != value.MaxAnswerChanges+1 {
		t.Errorf("Restrict made %d changes, want one more than an answer may have", len(kept))
	}
}

// TestDiffDepth checks that changes found by comparing can be applied: their pointers are no longer than a pointer may be.
func TestDiffDepth(t *testing.T) {
	t.Parallel()
	nest := func(leaf any) *sdk.ToolBeforeValue {
		for range 2 * value.MaxPointerSegments {
			leaf = map[string]any{"a": []any{leaf}}
		}
		return &sdk.ToolBeforeValue{Args: sdk.Object{"deep": leaf}}
	}
	before, after := nest(1.0), nest(2.0)
	changes, err := value.Diff[sdk.Change](before, after)
	if err != nil || len(changes) != 1 || strings.Count(changes[0].Pointer, "/") != value.MaxPointerSegments {
		t.Fatalf("Diff = %v, %v, want one change of %d segments", changes, err, value.MaxPointerSegments)
	}
	if err := value.Apply(before, changes); err != nil {
		t.Fatal(err)
	}
	if left, err := value.Diff[sdk.Change](before, after); err != nil || len(left) != 0 {
		t.Errorf("after applying the changes %v are left, %v", left, err)
	}
}

// FuzzAnswer takes any answer through what the host does with it.
func FuzzHostileAnswer(f *testing.F) {
	f.Add([]byte(`{"changes":[{"pointer":"","value":{"parts":[{"type":"text","text":"a"}]}}]}`), "/parts/*/text")
	f.Add([]byte(`{"changes":[{"pointer":"/parts/0/zzz/k","value":[1]},{"pointer":"/parts/0/zzz","remove":true}]}`), "/parts")
	f.Add([]byte(`{"changes":[{"pointer":"/parts/1","value":{"type":"tool","state":{"status":"running"}}},{"pointer":"/parts/1/state/status","value":"error"}]}`), "")
	f.Fuzz(func(t *testing.T, raw []byte, field string) {
		var answer sdk.Answer
		if json.Unmarshal(raw, &answer) != nil || value.CheckAnswer(answer.Changes, answer.Reason, answer.Message) != nil {
			return
		}
		kept, _ := value.Restrict(answer.Changes, []string{field})
		v := &sdk.CommandValue{Parts: sdk.Parts{&sdk.TextPart{Text: "hello", PartHead: sdk.PartHead{ID: "prt_1"}}}}
		before := encode(t, v)
		work := value.Clone(v)
		err := value.Apply(work, kept)
		if got := encode(t, v); got != before {
			t.Fatalf("the original changed to %s", got)
		}
		if err != nil && encode(t, work) != before {
			t.Fatalf("a failed Apply left %s", encode(t, work))
		}
		for _, c := range kept {
			if _, err := value.Lookup(work, c.Pointer); err != nil && !errors.Is(err, sdk.ErrWire) {
				t.Fatal(err)
			}
		}
	})
}
