package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/sdk"
)

func TestChangedLines(t *testing.T) {
	t.Parallel()
	const diff = "--- a\n+++ b\n@@ -0,0 +1,9 @@\n+x\n-y\n… 7 more lines\n"
	for want, metadata := range map[string]sdk.Object{
		"":           {"output": "x"},
		"+1 -1":      {"diff": diff},
		"+1 -2":      {"diff": "--- a\n+++ b\n@@ -1,2 +1 @@\n-x\n--- x\n+++ y\n"},
		"+340000 -2": {"diff": diff, "filediff": map[string]any{"additions": 340_000, "deletions": 2}},
		"+9 -0":      {"diff": diff, "filediff": map[string]any{"additions": 9.0, "deletions": 0.0}},
		"+5 -6":      {"diff": diff, "additions": 5, "deletions": 6},
	} {
		got := ""
		if added, removed, ok := ChangedLines(metadata); ok {
			got = fmt.Sprintf("+%d -%d", added, removed)
		}
		if got != want {
			t.Errorf("ChangedLines(%v) = %q, want %q", metadata, got, want)
		}
	}
}

// Carriage returns at the end of a line do not show, and others hide the text before them.
func TestOutputLines(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]string{
		"a\r\nb\r\n":        "a|b",
		"a\r\r\nb\r\r\n":    "a|b",
		"10%\r20%\r\nx\r":   "20%|x",
		"10%\r20%\rdone\ny": "done|y",
		"\n\n\x1b[1ma\tb\r": "a    b",
		"\r\n \r":           "",
	} {
		if have := strings.Join(OutputLines(output), "|"); have != want {
			t.Errorf("OutputLines(%q) = %q, want %q", output, have, want)
		}
	}
}

// A name from the model is a part of its line: it cannot add lines that look like other calls.
func TestNameOfACallIsOneLine(t *testing.T) {
	t.Parallel()
	p := &sdk.ToolPart{Tool: "x\n✓ bash rm", State: sdk.ToolState{Status: sdk.ToolCompleted}}
	var b strings.Builder
	s := &terminal.Screen{Width: func() int { return 80 }}
	ShowMessage(s, &b, &sdk.MessageWithParts{Info: &sdk.AssistantMessage{}, Parts: sdk.Parts{p}}, "", false)
	for _, text := range []string{toolLine(s, p, "", 0, false), b.String()} {
		if !strings.Contains(text, "x ✓ bash rm") {
			t.Errorf("shown as %q", text)
		}
	}
}
