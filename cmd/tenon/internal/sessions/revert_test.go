package sessions_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/sessions"
	"github.com/tenonhq/tenon/host"
)

// The name of a file is one line, whatever is in it. The content does not control the terminal; in a pipe, it is unchanged: it is a patch.
func TestShowChanges(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		content    string
		onTerminal bool
		want       string
	}{
		"name":     {"", false, `a\u{a}b is empty and was added` + "\n"},
		"pipe":     {"\x1b]0;x\a", false, "+\x1b]0;x\a\n"},
		"terminal": {"\x1b]0;x\a", true, `+\u{1b}]0;x\u{7}` + "\n"},
	} {
		out, err := os.Create(filepath.Join(t.TempDir(), "out"))
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		a := cli.New(cli.Streams{Out: out, Err: out}, nil, "", "")
		a.Screen.Streams = c.onTerminal
		if err := sessions.ShowChanges(a, []host.FileChange{{Path: "a\nb", Status: "added", After: []byte(c.content)}}); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(out.Name()); err != nil || !strings.Contains(string(text), c.want) {
			t.Errorf("%s: %q, %v; want %q", name, text, err, c.want)
		}
	}
}
