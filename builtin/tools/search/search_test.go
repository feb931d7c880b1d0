package search_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/tenonhq/tenon/builtin/tools/search"
	"github.com/tenonhq/tenon/sdk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tree writes files into a fresh directory, each one second older than the one before by name order of
// the call, and returns the directory.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func age(t *testing.T, path string, hours int) {
	t.Helper()
	when := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(-time.Duration(hours) * time.Hour)
	if err := os.Chtimes(path, when, when); err != nil {
		t.Fatal(err)
	}
}

func newCall(root, tool string, args sdk.Object) *sdk.ToolCall {
	data, err := json.Marshal(args)
	if err != nil {
		panic(err) // test arguments are plain
	}
	return &sdk.ToolCall{Tool: tool, Args: data, Directory: root, Worktree: root}
}

func tool(t testing.TB, id string) sdk.Tool {
	t.Helper()
	for _, tool := range search.New().(sdk.ToolSource).Tools() {
		if tool.Definition().ID == id {
			return tool
		}
	}
	t.Fatalf("no tool %q", id)
	return nil
}

func run(t testing.TB, root, id string, args sdk.Object) *sdk.ToolResult {
	t.Helper()
	result, err := tool(t, id).Execute(context.Background(), newCall(root, id, args))
	if err != nil {
		t.Fatalf("%s %v: %v", id, args, err)
	}
	return result
}

func runError(t *testing.T, root, id string, args sdk.Object, want string) {
	t.Helper()
	result, err := tool(t, id).Execute(context.Background(), newCall(root, id, args))
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s %v = %v, %v, want an error with %q", id, args, result, err, want)
	}
}

// noFiles is the result of glob without files.
const noFiles = "No files found. Ignored files are left out; read one by its path"

func TestGlob(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{
		"a.go": "", "a.md": "", "src/b.go": "", "src/deep/c.go": "", "src/deep/d.ts": "", "src/deep/e.tsx": "",
		".hidden/f.go": "", "out/g.go": "", ".gitignore": "out/\n*.log\n", "x.log": "", ".git/h.go": "",
		"we[ird/i.go": "",
	})
	all := []string{"a.go", "src/b.go", "src/deep/c.go", "src/deep/d.ts", "src/deep/e.tsx", ".hidden/f.go", "out/g.go", "x.log", "we[ird/i.go", "a.md", ".gitignore"}
	for i, name := range all {
		age(t, filepath.Join(root, name), i)
	}
	tests := map[string]struct {
		args sdk.Object
		want []string
	}{
		"any depth":              {sdk.Object{"pattern": "*.go"}, []string{"a.go", "src/b.go", "src/deep/c.go", ".hidden/f.go", "we[ird/i.go"}},
		"double star":            {sdk.Object{"pattern": "**/*.go"}, []string{"a.go", "src/b.go", "src/deep/c.go", ".hidden/f.go", "we[ird/i.go"}},
		"below a directory":      {sdk.Object{"pattern": "src/**/*.go"}, []string{"src/b.go", "src/deep/c.go"}},
		"one level":              {sdk.Object{"pattern": "src/*.go"}, []string{"src/b.go"}},
		"wildcard directory":     {sdk.Object{"pattern": "*/*.go"}, []string{"src/b.go", ".hidden/f.go", "we[ird/i.go"}},
		"braces":                 {sdk.Object{"pattern": "*.{ts,tsx}"}, []string{"src/deep/d.ts", "src/deep/e.tsx"}},
		"path":                   {sdk.Object{"pattern": "*.go", "path": "src/deep"}, []string{"src/deep/c.go"}},
		"absolute path":          {sdk.Object{"pattern": "*.go", "path": filepath.Join(root, "src")}, []string{"src/b.go", "src/deep/c.go"}},
		"absolute pattern":       {sdk.Object{"pattern": filepath.ToSlash(root) + "/src/*.go"}, []string{"src/b.go"}},
		"dots in the pattern":    {sdk.Object{"pattern": "../*.md", "path": "src"}, []string{"a.md"}},
		"plain name":             {sdk.Object{"pattern": "c.go"}, []string{"src/deep/c.go"}},
		"escaped bracket":        {sdk.Object{"pattern": `we\[ird/*`}, []string{"we[ird/i.go"}},
		"ignored":                {sdk.Object{"pattern": "*.log"}, []string{noFiles}},
		"ignored directory":      {sdk.Object{"pattern": "**/g.go"}, []string{noFiles}},
		"ignored, but named":     {sdk.Object{"pattern": "*.go", "path": "out"}, []string{"out/g.go"}},
		"ignored, named in glob": {sdk.Object{"pattern": "out/*.go"}, []string{"out/g.go"}},
		"git's own":              {sdk.Object{"pattern": "**/h.go"}, []string{noFiles}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := strings.Split(run(t, root, "glob", tt.args).Output, "\n")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("glob %v (-want +got):\n%s", tt.args, diff)
			}
		})
	}
	runError(t, root, "glob", sdk.Object{"pattern": "*.go", "path": "none"}, `"none" does not exist`)
	runError(t, root, "glob", sdk.Object{"pattern": "*.go", "path": "a.go"}, "is a file")
	runError(t, root, "glob", sdk.Object{"pattern": "{a,b"}, "check its brackets")
	runError(t, root, "glob", sdk.Object{"pattern": strings.Repeat("{,a}", 40) + "b"}, "fewer alternatives")
}

func TestGlobLinks(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"dir/a.go": ""})
	for link, target := range map[string]string{"link.go": "dir/a.go", "dead.go": "none", "dirlink": "dir", "dir/up": ".."} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Skip(err)
		}
	}
	age(t, filepath.Join(root, "dir/a.go"), 1)
	if got := run(t, root, "glob", sdk.Object{"pattern": "*.go"}).Output; got != "dir/a.go\nlink.go" {
		t.Errorf("glob = %q, want the file and the link to it, and nothing behind links to directories", got)
	}
}

func TestGlobLimit(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 450 {
		files[fmt.Sprintf("d%d/f%03d.txt", i%7, i)] = ""
	}
	root := tree(t, files)
	for i := range 450 {
		age(t, filepath.Join(root, fmt.Sprintf("d%d/f%03d.txt", i%7, i)), 1000-i)
	}
	result := run(t, root, "glob", sdk.Object{"pattern": "*.txt"})
	lines := strings.Split(result.Output, "\n")
	if lines[0] != "d1/f449.txt" || lines[99] != "d0/f350.txt" {
		t.Errorf("first = %q, hundredth = %q, want the newest", lines[0], lines[99])
	}
	if !strings.Contains(lines[len(lines)-1], "100 of 450 files") || result.Metadata["truncated"] != true {
		t.Errorf("note = %q, metadata = %v", lines[len(lines)-1], result.Metadata)
	}
}

func TestGrep(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{
		"a.go":       "package a\n\nfunc Find() {}\n// TODO: x\n",
		"b/b.go":     "package b\nfunc find() {}\n",
		"b/c.txt":    "func in text\r\ntodo\r\n",
		"bin":        "func \x00 binary\n",
		"late":       strings.Repeat("x\n", 5000) + "func \x00\n",
		"bom.cs":     "\ufeffusing A;\r\nusing B;\n",
		"noeol":      "first\nlast func",
		"ignored.md": "func\n",
		".gitignore": "*.md\n",
		".ignore":    "secret*\n",
		"secret.go":  "func secret\n",
		".dot/d.go":  "func dotted\n",
	})
	tests := map[string]struct {
		args sdk.Object
		want string
	}{
		"literal": {sdk.Object{"pattern": "func"}, "Found 5 matches\n\n.dot/d.go:\n  Line 1: func dotted\n\na.go:\n  Line 3: func Find() {}\n\n" +
			"b/b.go:\n  Line 2: func find() {}\n\nb/c.txt:\n  Line 1: func in text\n\nnoeol:\n  Line 2: last func"},
		"include":              {sdk.Object{"pattern": "func", "include": "*.txt"}, "Found 1 match\n\nb/c.txt:\n  Line 1: func in text"},
		"include excludes":     {sdk.Object{"pattern": "func", "include": "!*.go"}, "Found 2 matches\n\nb/c.txt:\n  Line 1: func in text\n\nnoeol:\n  Line 2: last func"},
		"excludes by a prefix": {sdk.Object{"pattern": "func", "include": "!noeol*"}, "Found 4 matches\n\n.dot/d.go:\n  Line 1: func dotted\n\na.go:\n  Line 3: func Find() {}\n\nb/b.go:\n  Line 2: func find() {}\n\nb/c.txt:\n  Line 1: func in text"},
		"excludes a directory": {sdk.Object{"pattern": "func", "include": "!b/"}, "Found 3 matches\n\n.dot/d.go:\n  Line 1: func dotted\n\na.go:\n  Line 3: func Find() {}\n\nnoeol:\n  Line 2: last func"},
		"excludes a path":      {sdk.Object{"pattern": "func", "include": "!**/*.go"}, "Found 2 matches\n\nb/c.txt:\n  Line 1: func in text\n\nnoeol:\n  Line 2: last func"},
		"include with slash":   {sdk.Object{"pattern": "func", "include": "b/*.{go,md}"}, "Found 1 match\n\nb/b.go:\n  Line 2: func find() {}"},
		"regexp":               {sdk.Object{"pattern": `^func\s+F\w+\(`}, "Found 1 match\n\na.go:\n  Line 3: func Find() {}"},
		"fold":                 {sdk.Object{"pattern": `(?i)todo`}, "Found 2 matches\n\na.go:\n  Line 4: // TODO: x\n\nb/c.txt:\n  Line 2: todo"},
		"end before CR":        {sdk.Object{"pattern": `todo$|text$`}, "Found 2 matches\n\nb/c.txt:\n  Line 1: func in text\n  Line 2: todo"},
		"byte order mark":      {sdk.Object{"pattern": `^using A;$`}, "Found 1 match\n\nbom.cs:\n  Line 1: using A;"},
		"end of text":          {sdk.Object{"pattern": `\Afirst\z`}, "Found 1 match\n\nnoeol:\n  Line 1: first"},
		"file":                 {sdk.Object{"pattern": "func", "path": "ignored.md"}, "Found 1 match\n\nignored.md:\n  Line 1: func"},
		"directory":            {sdk.Object{"pattern": "func", "path": "b"}, "Found 2 matches\n\nb/b.go:\n  Line 2: func find() {}\n\nb/c.txt:\n  Line 1: func in text"},
		"nothing":              {sdk.Object{"pattern": "nowhere"}, "No matches found"},
		"syntax of grep":       {sdk.Object{"pattern": `find\|last`}, "No matches found\n(\\| and \\< match the characters | and <; alternatives are a|b, and \\b is the edge of a word)"},
		"nothing, no literal":  {sdk.Object{"pattern": `\d{3}`}, "No matches found"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, run(t, root, "grep", tt.args).Output); diff != "" {
				t.Errorf("grep %v (-want +got):\n%s", tt.args, diff)
			}
		})
	}
	runError(t, root, "grep", sdk.Object{"pattern": "(?=x)"}, "RE2")
	runError(t, root, "grep", sdk.Object{"pattern": "func("}, "backslash")
	runError(t, root, "grep", sdk.Object{"pattern": "a\nb"}, "line break")
	runError(t, root, "grep", sdk.Object{"pattern": "a", "include": "[x"}, "include")
	runError(t, root, "grep", sdk.Object{"pattern": "a", "path": "none"}, "does not exist")
	runError(t, root, "grep", sdk.Object{"pattern": "binary", "path": "bin"}, "NUL bytes")
	runError(t, root, "grep", sdk.Object{"pattern": "func", "path": "late"}, "NUL bytes")
}

// outputs is a host with one stored output.
type outputs struct{ sdk.ToolHost }

func (outputs) Output(_ context.Context, ref string) ([]byte, error) {
	if ref != "x" {
		return nil, errors.New("no such output")
	}
	return []byte("build\nFATAL: disk\n" + strings.Repeat("done,", 1000) + "FATAL: end"), nil
}

func TestGrepStoredOutput(t *testing.T) {
	t.Parallel()
	grep := tool(t, "grep").(sdk.ToolPreparer)
	call := newCall(t.TempDir(), "grep", sdk.Object{"pattern": "FATAL", "path": "tool-output/x"})
	call.Host = outputs{}
	if requests, err := grep.Prepare(t.Context(), call); err != nil || len(requests) > 0 {
		t.Errorf("Prepare = %v, %v, want no permission", requests, err)
	}
	result, err := tool(t, "grep").Execute(t.Context(), call)
	if err != nil || result.Output != "Found 2 matches\n\ntool-output/x:\n  Line 2: FATAL: disk\n  Line 5: "+strings.Repeat("done,", 200)+"FATAL: end" {
		t.Errorf("grep = %+v, %v", result, err)
	}
	call.Args = json.RawMessage(`{"pattern":"x","path":"tool-output/y"}`)
	if _, err := tool(t, "grep").Execute(t.Context(), call); err == nil || !strings.Contains(err.Error(), "no such output") {
		t.Errorf("grep in an unknown output = %v", err)
	}
}

func TestGrepLimit(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 300 {
		files[fmt.Sprintf("f%03d", i)] = strings.Repeat("hit\nmiss\n", 3)
	}
	root := tree(t, files)
	want := run(t, root, "grep", sdk.Object{"pattern": "hit"})
	if got := strings.Count(want.Output, "  Line "); got != 100 || want.Metadata["truncated"] != true {
		t.Errorf("%d lines, metadata %v, want 100 and truncated", got, want.Metadata)
	}
	if !strings.Contains(want.Output, "more than 100 matches") || !strings.Contains(want.Output, "f033:\n  Line 1: hit") || strings.Contains(want.Output, "f034") {
		t.Errorf("output is not the first hundred: %s", want.Output)
	}
	for range 20 {
		if got := run(t, root, "grep", sdk.Object{"pattern": "hit"}); got.Output != want.Output {
			t.Fatal("two runs differ")
		}
	}
}

func TestGrepLongLines(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{
		"min.js": strings.Repeat("é", 3000) + "needle" + strings.Repeat("x", 3<<20) + "needle\nneedle\n",
	})
	got := run(t, root, "grep", sdk.Object{"pattern": "needle"}).Output
	lines := strings.Split(got, "\n")
	if len(lines) != 5 || !strings.HasPrefix(lines[3], "  Line 1: …é") || !strings.Contains(lines[3], "éneedlexx") || !strings.Contains(lines[3], "x… (") || lines[4] != "  Line 2: needle" {
		t.Fatalf("grep = %.300q", lines)
	}
	if len(lines[3]) > 700 {
		t.Errorf("a line of %d bytes is shown", len(lines[3]))
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"a": "x", "b/c": "x"})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, id := range []string{"glob", "grep"} {
		_, err := tool(t, id).Execute(ctx, newCall(root, id, sdk.Object{"pattern": "x"}))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error = %v, want Canceled", id, err)
		}
	}
}

func TestPrepare(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"src/a": ""})
	outside := tree(t, nil)
	tests := map[string]struct {
		id   string
		args sdk.Object
		want []string // permission and pattern
	}{
		"glob":                    {"glob", sdk.Object{"pattern": "*.go", "path": "src"}, []string{"glob *.go"}},
		"grep":                    {"grep", sdk.Object{"pattern": "a+"}, []string{"grep a+"}},
		"path outside":            {"grep", sdk.Object{"pattern": "x", "path": outside}, []string{"external_directory " + outside + "/*", "grep x"}},
		"pattern leads outside":   {"glob", sdk.Object{"pattern": outside + "/*.go"}, []string{"external_directory " + outside + "/*", "glob " + outside + "/*.go"}},
		"include leads outside":   {"grep", sdk.Object{"pattern": "x", "include": "../*"}, []string{"external_directory " + filepath.Dir(root) + "/*", "grep x"}},
		"dots that stay in place": {"glob", sdk.Object{"pattern": "src/../*"}, []string{"glob src/../*"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requests, err := tool(t, tt.id).(sdk.ToolPreparer).Prepare(context.Background(), newCall(root, tt.id, tt.args))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range requests {
				got = append(got, r.Permission+" "+strings.Join(r.Patterns, " "))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Prepare (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := tool(t, "grep").(sdk.ToolPreparer).Prepare(context.Background(), newCall(root, "grep", sdk.Object{"pattern": "["})); err == nil {
		t.Error("Prepare accepts a broken pattern")
	}
}

func TestDefinitions(t *testing.T) {
	t.Parallel()
	for _, tool := range search.New().(sdk.ToolSource).Tools() {
		d := tool.Definition()
		if size := len(d.Description) + len(d.Parameters); size > 900 || !json.Valid(d.Parameters) {
			t.Errorf("%s: %d bytes of definition (at most 900), valid JSON: %v", d.ID, size, json.Valid(d.Parameters))
		}
	}
}
