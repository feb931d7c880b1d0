package wire

import "testing"

func TestClaudeVersion(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{
		"claude-opus-4-5-20251101": 405, "Claude-Sonnet-4-20250514": 400, "claude-3-7-sonnet@20250219": 307, "claude-opus-4-10": 410,
		"eu.anthropic.claude-haiku-4-5-20251001-v1:0": 405, "anthropic/claude-opus-4.7": 407, "claude-fable-5": 500, "claude-opus-latest": 0, "gpt-5.2": 0,
	} {
		if got := ClaudeVersion(name); got != want {
			t.Errorf("ClaudeVersion(%s) = %d, want %d", name, got, want)
		}
	}
}
