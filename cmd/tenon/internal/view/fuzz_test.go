package view

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/sdk"
)

// A call is shown in one line, and its output in lines of the screen's width, without control characters.
func FuzzCall(f *testing.F) {
	f.Add("bash", []byte(`{"command":"a\nb\u001b[2J\r","path":"/src/x","pattern":"é"}`), "10%\r20%\r\n\x1b[31mred\x1b[0m\ttab\n\u202ex", "")
	f.Add("x\n✓ bash", []byte(`{"file_path":"/src/../etc","p`), "", "--- a\n+++ b\n@@ -1,2 +1 @@\n-x\x1b]0;t\a\n+\xff日本\n")
	f.Add("grep", []byte(`{"pattern":"a\ud800","path":"\`), strings.Repeat("a\n", 20), "@@")
	f.Fuzz(func(t *testing.T, name string, input []byte, output, diff string) {
		const width = 40
		screen := &terminal.Screen{Width: func() int { return width }}
		metadata := sdk.Object{"exit": 1, "output": output}
		if diff != "" {
			metadata["diff"] = diff
		}
		var lines []string
		for _, status := range []sdk.ToolStatus{sdk.ToolPending, sdk.ToolRunning, sdk.ToolCompleted} {
			p := &sdk.ToolPart{Tool: name, State: sdk.ToolState{Status: status, Input: json.RawMessage(input), Output: output, Metadata: metadata, Title: output}}
			for _, rich := range []bool{false, true} {
				lines = append(lines, toolLine(screen, p, "/src", 1, rich))
			}
			lines = append(lines, runningLine(screen, p, 7, "/src", 0, time.Time{}))
			shown := outputLines(screen, p, width)
			for _, line := range shown {
				if terminal.Columns(line) > width {
					t.Errorf("%d columns: %q", terminal.Columns(line), line)
				}
			}
			lines = append(lines, shown...)
		}
		for _, line := range lines {
			if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u202e' }) {
				t.Errorf("control characters in %q", line)
			}
		}
	})
}
