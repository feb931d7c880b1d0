package shell

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/sdk"
)

// Words that are absolute for a program on Windows, or for Git's bash, are not paths of the project.
func TestFromOnWindows(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a": `D:\project\a`, `C:\a`: `C:\a`, "c:/a": "c:/a", "/c/Users/a": `c:\Users\a`, "/c": `c:\`, `\Users\a`: `D:\Users\a`, "/tmp/a": `D:/tmp/a`,
		"c:a": `c:\a`, "//server/share/a": "//server/share/a", "": `D:\project\`,
		"/./c/a": `c:\a`, "/tmp/../c/a": `c:\a`, "../../c/a": `c:\a`, "///c/a": `c:\a`, "../a": `D:\a`, "a/../b": `D:\project\a/../b`,
	} {
		if got := from(`D:\project`, text); got != want {
			t.Errorf("from(%q) = %q, want %q", text, got, want)
		}
	}
}

// Patterns find the files that Git's bash finds, also with a drive and with brackets in names. No pattern hides a name that begins with a dash.
func TestPatternsOnWindows(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "[id]")
	for _, name := range []string{"a.txt", "[b]/c.txt", "[b]/-d"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	slashes := filepath.ToSlash(dir)
	for text, want := range map[string]string{
		"a*": "a.txt", "'[b]'/c*": "[b]/c.txt", "'" + slashes + "'/a*": slashes + "/a.txt", "'/" + slashes[:1] + slashes[2:] + "'/a*": slashes + "/a.txt",
	} {
		w, _, err := readWord(text)
		if err != nil {
			t.Fatal(err)
		}
		j := judge{ctx: t.Context(), base: dir}
		if got, err := j.expand(w); err != nil || !slices.Contains(got, want) {
			t.Errorf("expand(%s) = %q, %v, want %s", text, got, err, want)
		}
	}
	j := judge{ctx: t.Context(), base: filepath.Join(dir, "[b]")}
	w, _, err := readWord("*")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := j.expand(w); err == nil {
		t.Errorf("expand(*) = %q, want an error about -d", got)
	}
}

// The paths of servers are outside without a look at the server, which would sign in there.
func TestServersOnWindows(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	call := &sdk.ToolCall{Directory: dir, Worktree: dir}
	for text, want := range map[string][]string{
		"cat //server/share/a": {"//server/share/a"}, `cat '\\server\share\a'`: {`\\server\share\a`}, "x --file=//server/share/a": {"//server/share/a"},
		"cat x=/c/a://server/share/a": {"//server/share/a"}, "cat x=/c/ab://server/share/a": {"//server/share/a"}, "curl -o a,HTTPS://server/share/a": nil,
		"curl https://server/share/a": nil, "curl file://server/share/a": {"//server/share/a"}, `cat '\\?\UNC\server\share\a'`: {`\\?\UNC\server\share\a`},
	} {
		got := judgeText(t.Context(), call, text, dir, shell{grammar: true})
		if !slices.Equal(got.outside, want) {
			t.Errorf("outside of %s: %q, want %q", text, got.outside, want)
		}
		if request := paths.Externals(call, got.outside...); (request != nil) != (want != nil) {
			t.Errorf("%s: external request %v", text, request)
		}
	}
}
