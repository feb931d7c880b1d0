package conformance_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/internal/conformance"
	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
)

// points: at every point input and value arrive complete, and a change has effect.
func (s *suite) points() map[string]probe {
	list := map[string]probe{}
	for _, info := range hookpoint.All() {
		sample := sampleOf(info.Point)
		script := conformance.Script{Record: string(info.Point), Input: sample.text}
		if info.Kind == hookpoint.KindTransform {
			script.Set = []sdk.Change{sample.change}
		}
		list[string(info.Point)] = probe{point: info.Point, script: script, check: func(t *testing.T, o *outcome) {
			want := conformance.Recorded{Input: json.RawMessage(toJSON(t, sample.input()))}
			if sample.value != nil {
				want.Value = json.RawMessage(toJSON(t, sample.value()))
			}
			if diff := cmp.Diff(s.rounded(indented(t, toJSON(t, want))), s.rounded(indented(t, o.Call))); diff != "" {
				t.Errorf("the call as it arrived (-want +got):\n%s", diff)
			}
			if sample.value == nil {
				return
			}
			if o.Entries[0].Outcome != hooks.OutcomeChanged {
				t.Errorf("the hook's change had no effect: %+v", o.Entries[0])
			}
		}}
	}
	return list
}

func indented(t *testing.T, text string) string {
	t.Helper()
	return toJSON(t, json.RawMessage(text))
}

// changes: each way of changing a value comes out as in this process.
func (s *suite) changes() map[string]probe {
	list := map[string]probe{}
	at := func(p sdk.Point, name string, changes ...sdk.Change) {
		list[name] = probe{point: p, script: conformance.Script{Set: changes}}
	}
	const text = "/messages/0/parts/0/text"
	at(sdk.PointChatMessages, "nothing")
	at(sdk.PointChatMessages, "text", set(text, `"<bye> 東京 & \u2028"`))
	at(sdk.PointChatMessages, "empty text", set(text, `""`))
	at(sdk.PointChatMessages, "same text", set(text, string(jsontext.Quote("hello "+exotic))))
	at(sdk.PointChatMessages, "tool output", set("/messages/0/parts/1/state/output", `"***"`))
	at(sdk.PointChatMessages, "tool input", set("/messages/0/parts/1/state/input", `{"n":98765432109876543210}`))
	at(sdk.PointChatMessages, "metadata", set("/messages/0/parts/0/metadata/deep/list/1", `{"é":1e400}`))
	at(sdk.PointChatMessages, "metadata gone", remove("/messages/0/parts/0/metadata"))
	at(sdk.PointChatMessages, "unknown field", set("/messages/0/parts/0/futureField/n", "1"))
	at(sdk.PointChatMessages, "unknown part", set("/messages/0/parts/3/depth", "2"))
	at(sdk.PointChatMessages, "new unknown field", set("/messages/0/info/other", `{"a":[]}`))
	at(sdk.PointChatMessages, "append part", set("/messages/1/parts/1", `{"id":"prt_9","sessionID":"s","messageID":"m","type":"text","text":"more"}`))
	at(sdk.PointChatMessages, "append part of an unknown type", set("/messages/1/parts/1", `{"id":"prt_9","type":"smell","note":"cedar"}`))
	at(sdk.PointChatMessages, "remove last part", remove("/messages/0/parts/3"))
	at(sdk.PointChatMessages, "remove first part", remove("/messages/0/parts/0"))
	at(sdk.PointChatMessages, "remove all messages", set("/messages", "[]"))
	at(sdk.PointChatMessages, "replace a message's parts", set("/messages/0/parts", `[{"id":"prt_1","sessionID":"s","messageID":"m","type":"text","text":"only"}]`))
	at(sdk.PointToolBefore, "large number", set("/args/int", "98765432109876543210"))
	at(sdk.PointToolBefore, "long decimal", set("/args/long", "2.71828182845904523536028747135266249775"))
	at(sdk.PointToolBefore, "null", set("/args/small", "null"))
	at(sdk.PointToolBefore, "from null", set("/args/none", "1"))
	at(sdk.PointToolBefore, "empty values", set("/args/a", `""`), set("/args/b", "[]"), set("/args/c", "{}"))
	at(sdk.PointToolBefore, "escaped keys", set("/args/a~1b", "1"), remove("/args/a~0b"), set("/args/ü~1~0", "2"), set("/args/", "3"))
	at(sdk.PointToolBefore, "deep", set("/args/deep/list/3/k", `["v"]`))
	at(sdk.PointToolBefore, "append", set("/args/deep/list/4", "5"))
	at(sdk.PointToolBefore, "all gone", set("/args", "{}"))
	at(sdk.PointToolBefore, "null object", set("/args", "null"))
	at(sdk.PointChatSystem, "append line", set("/system/3", `"fourth"`))
	at(sdk.PointChatSystem, "remove lines", remove("/system/2"), remove("/system/1"))
	at(sdk.PointChatSystem, "no lines", set("/system", "null"))
	at(sdk.PointChatParams, "unset", remove("/temperature"), remove("/topK"))
	at(sdk.PointChatParams, "whole number", set("/maxOutputTokens", "1152921504606846975"))
	at(sdk.PointChatHeaders, "remove header", remove("/headers/x-a"))
	at(sdk.PointToolAfter, "attachments", set("/attachments/1", `{"id":"prt_8","sessionID":"s","messageID":"m","type":"file","mime":"text/plain","url":"data:,hi"}`))
	at(sdk.PointToolAfter, "no attachments", remove("/attachments"))
	at(sdk.PointSmallModel, "no model", remove("/model"))
	return list
}

// fields: a hook is sent what it declared, and changes what it declared.
func (s *suite) fields() map[string]probe {
	list := map[string]probe{}
	// A hook of this process sees the whole value. So what a carrier sends is compared with the selection itself, and only that.
	reads := func(name string, p sdk.Point, fields ...string) {
		if s.carrier.Name == Builtin().Name {
			return
		}
		script := conformance.Script{Record: string(p)}
		list["reads "+name] = probe{point: p, hook: sdk.HookDescription{Reads: fields, Writes: []string{}}, script: script, partial: true, check: func(t *testing.T, o *outcome) {
			s.sent(t, p, fields, o.Call)
		}}
	}
	reads("one text", sdk.PointChatMessages, "/messages/0/parts/0/text")
	reads("texts", sdk.PointChatMessages, "/messages/*/parts/*/text")
	reads("outputs and roles", sdk.PointChatMessages, "/messages/*/info/agent", "/messages/*/parts/*/state/output")
	reads("one argument", sdk.PointToolBefore, "/args/int")
	reads("escaped", sdk.PointToolBefore, "/args/a~1b", "/args/a~0b")
	reads("missing", sdk.PointToolBefore, "/args/nothing")
	reads("last line", sdk.PointChatSystem, "/system/2")
	reads("nothing", sdk.PointChatParams)

	writes := func(name string, p sdk.Point, dropped []string, fields []string, changes ...sdk.Change) {
		list["writes "+name] = probe{point: p, hook: sdk.HookDescription{Reads: []string{""}, Writes: fields}, script: conformance.Script{Set: changes}, check: func(t *testing.T, o *outcome) {
			if diff := cmp.Diff(dropped, o.Entries[0].Dropped); diff != "" {
				t.Errorf("dropped (-want +got):\n%s", diff)
			}
		}}
	}
	writes("one of two", sdk.PointToolBefore, []string{"/args/small"}, []string{"/args/int"}, set("/args/int", "1"), set("/args/small", "9"))
	writes("none", sdk.PointToolBefore, []string{"/args/int"}, []string{}, set("/args/int", "1"))
	writes("texts", sdk.PointChatMessages, []string{"/messages/0/parts/1/state/output"}, []string{"/messages/*/parts/*/text"},
		set("/messages/0/parts/0/text", `"a"`), set("/messages/1/parts/0/text", `"b"`), set("/messages/0/parts/1/state/output", `"c"`))
	writes("member of a new object", sdk.PointToolBefore, []string{"/args/new/b"}, []string{"/args/new/a"}, set("/args/new", `{"a":1,"b":2}`))
	writes("append", sdk.PointChatSystem, nil, []string{"/system/*"}, set("/system/3", `"x"`))
	writes("the end of a list", sdk.PointChatSystem, nil, []string{"/system/-"}, set("/system/-", `"x"`), set("/system/-", `"y"`))
	writes("an element, where the end may be written", sdk.PointChatSystem, []string{"/system/0"}, []string{"/system/-"}, set("/system/0", `"x"`))
	return list
}

// answers: an answer that exceeds a bound is a failure of the hook, and changes nothing.
func (s *suite) answers() map[string]probe {
	list := map[string]probe{}
	for _, excess := range conformance.Excesses() {
		list[string(excess)] = probe{
			point: sdk.PointToolBefore, hook: sdk.HookDescription{Reads: []string{""}, Writes: []string{"/args/*"}},
			script: conformance.Script{Excess: excess}, abnormal: true,
			check: func(t *testing.T, o *outcome) {
				fails(t, o, hooks.OutcomeError)
				if want := toJSON(t, sampleOf(sdk.PointToolBefore).value()); toJSON(t, o.Value) != want {
					t.Errorf("the value became\n%.1000s", toJSON(t, o.Value))
				}
			},
		}
	}
	return list
}

// sent checks a call as it arrived at a hook that reads some fields.
func (s *suite) sent(t *testing.T, p sdk.Point, fields []string, call string) {
	t.Helper()
	sample := sampleOf(p)
	selected, err := value.Select(sample.value(), fields)
	if err != nil {
		t.Fatal(err)
	}
	info, _ := hookpoint.Of(string(p))
	value := info.NewValue()
	if err := json.Unmarshal(selected, value); err != nil {
		t.Fatal(err)
	}
	want := conformance.Recorded{Input: json.RawMessage(toJSON(t, sample.input())), Value: json.RawMessage(toJSON(t, value))}
	if s.carrier.Untyped {
		want.Value = selected
	}
	if diff := cmp.Diff(s.rounded(indented(t, toJSON(t, want))), s.rounded(indented(t, call))); diff != "" {
		t.Errorf("the call as it arrived (-want +got):\n%s", diff)
	}
}
