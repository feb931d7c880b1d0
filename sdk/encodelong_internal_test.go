package sdk

import (
	"bytes"
	"encoding/json"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// TestLongTexts holds that long texts and raw JSON are encoded as encoding/json encodes them, into one buffer.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("line <&> \"quoted\"\\ \x01\xff\u2028 天\n\t", 4000)
	raw := json.RawMessage(`{ "a": "<` + strings.Repeat("x", minLong) + `\u2028", "b": [1, 2] }`)
	type text TextPart
	head := PartHead{ID: "prt_1", SessionID: "ses_1", MessageID: "msg_1"}
	for name, v := range map[string]any{
		"text":      text{PartHead: head, Text: long, Time: &PartTime{Start: 1}, Metadata: Object{"k": "<v>"}},
		"pending":   toolPending{ToolPending, json.RawMessage("{}"), long},
		"running":   toolRunning{ToolRunning, raw, "<title>", nil, ToolTime{Start: 1}},
		"completed": toolCompleted{ToolCompleted, raw, long, "", Object{}, ToolTime{}, []*FilePart{{Mime: "a/b"}}},
		"no state":  toolError{"", nil, long, nil, ToolTime{}},
	} {
		if planOf(reflect.TypeOf(v)).longText(reflect.ValueOf(v)) == 0 {
			t.Errorf("%s: not long", name)
		}
		want, err := marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		got, err := encodeWire("", v, nil)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %.100s (%v), want %.100s", name, got, err, want)
		}
		tagged, err := encodeWire("tag", v, nil)
		if wantTagged := `{"type":"tag",` + string(want[1:]); err != nil || string(tagged) != wantTagged {
			t.Errorf("%s: %.100s (%v), want %.100s", name, tagged, err, wantTagged)
		}
	}
	if _, err := encodeWire("", toolRunning{ToolRunning, append(raw, '}'), "", nil, ToolTime{}}, nil); err == nil {
		t.Error("raw JSON that is not JSON: no error")
	}
}

// TestLongTextsAreNotCopied holds that the JSON of a long part takes the memory of the JSON once.
func TestLongTextsAreNotCopied(t *testing.T) {
	text := strings.Repeat("a line of ordinary text\n", 100_000)
	raw := json.RawMessage(`{"content":"` + strings.Repeat("x", len(text)) + `"}`)
	for name, p := range map[string]Part{
		"text": &TextPart{Text: text},
		"tool": &ToolPart{Tool: "write", State: ToolState{Status: ToolRunning, Input: raw}},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := p.(json.Marshaler).MarshalJSON(); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if ratio := float64(after.TotalAlloc-before.TotalAlloc) / float64(len(text)); ratio > 1.5 {
			t.Errorf("%s: allocates %.1f times the text, want at most 1.5", name, ratio)
		}
	}
}
