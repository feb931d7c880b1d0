package view

import (
	"strings"
	"testing"

	"github.com/tenonhq/tenon/sdk"
)

// TestDraft: a plugin that may write only the metadata of a prompt cannot put a shell line into the user's input.
func TestDraft(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		part sdk.TextPart
		want string
	}{
		"prompt":      {sdk.TextPart{Text: "$ ls\na"}, "$ ls\na"},
		"shell line":  {sdk.TextPart{Text: "$ ls\na", Metadata: sdk.Object{"shell": "ls"}}, "!ls"},
		"of a plugin": {sdk.TextPart{Text: "hello", Metadata: sdk.Object{"shell": "rm -rf ~"}}, "hello"},
		"hidden":      {sdk.TextPart{Text: "$ ls\na", Metadata: sdk.Object{"shell": "ls"}, Synthetic: true}, ""},
	} {
		if got := Draft(sdk.Parts{&c.part}); got != c.want {
			t.Errorf("%s: Draft() = %q, want %q", name, got, c.want)
		}
	}
}

// TestPromptText: only the tags after the output of a shell command are for the model; the output can have the same.
func TestPromptText(t *testing.T) {
	t.Parallel()
	const tags = "\n<bash_metadata>\nexit status 3\n</bash_metadata>"
	for text, want := range map[string]string{
		"$ ls\na\n" + tags:       "$ ls\na\nexit status 3",
		"$ ls\na" + tags:         "$ ls\na\nexit status 3",
		"$ ls\n" + tags:          "$ ls\nexit status 3",
		"$ ls\nx" + tags + "\ny": "$ ls\nx" + tags + "\ny",
		"ls" + tags:              "ls" + tags,
	} {
		if got := PromptText(sdk.Parts{&sdk.TextPart{Text: text, Metadata: sdk.Object{"shell": "ls"}}}); got != want {
			t.Errorf("PromptText(%q) = %q, want %q", text, got, want)
		}
	}
}

// TestShortfall: an answer that is a tool call made no call.
func TestShortfall(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"done": "", `{"name": "x"}`: "", "Use <tool_call> there": "", "": "without an answer",
		"```json\n{\"name\": \"read\", \"arguments\": {}}\n```": "as text", "<tool_call>\n{}": "as text", "<|tool_call|>": "as text", "\n<function=read>": "as text",
		`{"name":"read","parameters":{}}`: "as text",
	} {
		m := &sdk.MessageWithParts{Info: &sdk.AssistantMessage{Finish: sdk.FinishStop}, Parts: sdk.Parts{&sdk.TextPart{Text: text}}}
		if got := Shortfall(m); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("Shortfall(%q) = %q, want %q", text, got, want)
		}
	}
}

// TestUsage: the input includes the tokens from a cache, and the output those of reasoning, as in the last line of a run.
func TestUsage(t *testing.T) {
	t.Parallel()
	cached := sdk.Tokens{Input: 1000, Output: 20, Reasoning: 300, Cache: sdk.CacheCount{Read: 3000, Write: 500}}
	if got, want := Usage(cached, 0), "4.5k in (3.0k cached) · 320 out (300 reasoning) · $0.0000"; got != want {
		t.Errorf("Usage = %q, want %q", got, want)
	}
}
