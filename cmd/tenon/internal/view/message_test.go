package view

import (
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
	} {
		if got := Draft(sdk.Parts{&c.part}); got != c.want {
			t.Errorf("%s: Draft() = %q, want %q", name, got, c.want)
		}
	}
}
