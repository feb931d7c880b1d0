package manage

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/sdk"
)

// A message of the host and a summary neither end a recorded turn nor are part of its script, nor is an answer that broke off. A turn without an
// answer is left out.
func TestTurnsOf(t *testing.T) {
	t.Parallel()
	text := func(s string) sdk.Parts { return sdk.Parts{&sdk.TextPart{Text: s}} }
	user := func(parts sdk.Parts) sdk.MessageWithParts {
		return sdk.MessageWithParts{Info: &sdk.UserMessage{}, Parts: parts}
	}
	answer := func(parts sdk.Parts) sdk.MessageWithParts {
		return sdk.MessageWithParts{Info: &sdk.AssistantMessage{}, Parts: parts}
	}
	call := &sdk.ToolPart{Tool: "read", State: sdk.ToolState{Input: json.RawMessage(`{"a":1}`)}}
	cut := &sdk.ToolPart{Tool: "read", State: sdk.ToolState{Input: json.RawMessage("{}")}, Metadata: sdk.Object{"ignored": true}}
	got, err := turnsOf([]sdk.MessageWithParts{
		answer(text("before")),
		user(text("one")), answer(sdk.Parts{call}),
		user(sdk.Parts{&sdk.CompactionPart{}}), {Info: &sdk.AssistantMessage{Summary: true}, Parts: text("summary")},
		user(sdk.Parts{&sdk.TextPart{Text: "continue", Synthetic: true}}), answer(text("done")),
		user(text("two")),
		user(text("three")), answer(sdk.Parts{&sdk.TextPart{Text: "en", Ignored: true}, &sdk.TextPart{Text: "end"}}),
		user(text("four")), answer(sdk.Parts{&sdk.TextPart{Text: "broke", Ignored: true}, cut}),
	})
	want := []*trial{
		{Prompt: "one", Script: json.RawMessage(`[{"toolCalls":[{"tool":"read","args":{"a":1}}]},{"text":"done"}]`)},
		{Prompt: "three", Script: json.RawMessage(`[{"text":"end"}]`)},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("turnsOf() = %v (-want +got):\n%s", err, diff)
	}
}

// A test file with text after its JSON is refused: --update would drop the text.
func TestReadTrial(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.turn.json")
	for text, want := range map[string]string{"{\"prompt\": \"a\"}\n": "", `{"prompt": "a"} {"prompt": "b"}`: "unexpected data", `{"prompt": "a"}}`: "unexpected data", "{}": "prompt is missing"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readTrial(path); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("readTrial(%q) = %v, want %q", text, err, want)
		}
	}
}
