package files_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/sdk"
)

func patch(lines ...string) sdk.Object {
	return sdk.Object{"patchText": "*** Begin Patch\n" + strings.Join(lines, "\n") + "\n*** End Patch"}
}

func TestPatchUpdate(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		content string
		lines   []string
		want    string
	}{
		"replace":              {"a\nb\nc\n", []string{" a", "-b", "+x", " c"}, "a\nx\nc\n"},
		"with @@":              {"a\nb\nc\n", []string{"@@", " a", "-b", "+x"}, "a\nx\nc\n"},
		"context":              {"f\nx\ng\nx\n", []string{"@@ g", "-x", "+y"}, "f\nx\ng\ny\n"},
		"context's name":       {"f()\n g2:\nx\n g :\nx\n", []string{"@@ g", "-x", "+y"}, "f()\n g2:\nx\n g :\ny\n"},
		"context's start":      {"f()\n g(a int) {\nx\n", []string{"@@ g(", "-x", "+y"}, "f()\n g(a int) {\ny\n"},
		"two contexts":         {"A\nm\nx\nB\nm\nx\n", []string{"@@ B", "@@ m", "-x", "+y"}, "A\nm\nx\nB\nm\ny\n"},
		"context once more":    {"f\nx\ng\nx\n", []string{"@@ g", " g", "-x", "+y"}, "f\nx\ng\ny\n"},
		"two hunks":            {"a\nb\nc\nd\n", []string{"@@", "-a", "+1", "@@", "-d", "+4"}, "1\nb\nc\n4\n"},
		"repeated lines":       {"x\nx\nx\n", []string{"@@", "-x", "+1", "@@", "-x", "+2"}, "1\n2\nx\n"},
		"git header":           {"a\nb\n", []string{"@@ -1,2 +1,2 @@", " a", "-b", "+c"}, "a\nc\n"},
		"git header, context":  {"f\nx\ng\nx\n", []string{"@@ -3,1 +3,1 @@ g", "-x", "+y"}, "f\nx\ng\ny\n"},
		"insert":               {"a\nb\n", []string{" a", "+x", " b"}, "a\nx\nb\n"},
		"insert at the end":    {"a\nb\n", []string{"+x"}, "a\nb\nx\n"},
		"insert after context": {"a\nb\n", []string{"@@ a", "+x"}, "a\nx\nb\n"},
		"end of file":          {"x\na\nx\n", []string{"-x", "+y", "*** End of File"}, "x\na\ny\n"},
		"insert, end of file":  {"x\n", []string{"@@ x", "+y", "*** End of File"}, "x\ny\n"},
		"into an empty file":   {"", []string{"+x"}, "x\n"},
		"no final newline":     {"a\nb", []string{"-b", "+c"}, "a\nc"},
		"append, no newline":   {"a", []string{" a", "+b"}, "a\nb"},
		"remove last line":     {"a\nb", []string{" a", "-b"}, "a"},
		"remove everything":    {"a\n", []string{"-a"}, ""},
		"CRLF":                 {"a\r\nb\r\nc\r\n", []string{" a", "-b", "+x", "+y", " c"}, "a\r\nx\r\ny\r\nc\r\n"},
		"CRLF, no newline":     {"a\r\nb", []string{" a", "-b", "+c"}, "a\r\nc"},
		"mixed endings":        {"a\r\nb\nc\n", []string{" a", "-b", "+x"}, "a\r\nx\nc\n"},
		"byte order mark":      {"\ufeffa\nb\n", []string{"-a", "+x"}, "\ufeffx\nb\n"},
		"trailing space":       {"a  \nb\n", []string{" a", "-b", "+c"}, "a  \nc\n"},
		"indentation":          {"\t\ta\n\t\tb\n", []string{" a", "-b", "+\t\tc"}, "\t\ta\n\t\tc\n"},
		"typography":           {"say “hi” – now\u00a0ok\nb\n", []string{" say \"hi\" - now ok", "-b", "+c"}, "say “hi” – now\u00a0ok\nc\n"},
		"strictest first":      {" x\nx\n", []string{"-x", "+y"}, " x\ny\n"},
		"bare empty line":      {"a\n\nb\n", []string{" a", "", "-b", "+c"}, "a\n\nc\n"},
		"end as a line":        {"*** End Patch\nb\n", []string{" *** End Patch", "-b", "+c"}, "*** End Patch\nc\n"},
		"empty line after EOF": {"a\nb\n", []string{"-b", "+c", "*** End of File", ""}, "a\nc\n"},
		"empty line at end":    {"a\nb\nc\n", []string{" a", "-b", ""}, "a\nc\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.put("f", tt.content)
			b.read("f")
			result := b.must("apply_patch", patch(append([]string{"*** Update File: f"}, tt.lines...)...))
			if loose := name == "indentation" || name == "typography"; strings.Contains(result.Output, "was matched ignoring") != loose {
				t.Errorf("output %q; want a note: %t", result.Output, loose)
			}
			b.want("f", tt.want)
			b.wantNames("f")
		})
	}
}

func TestPatchFiles(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("update", "a\n")
	b.put("move", "m\n")
	b.put("delete", "d\n")
	b.put("twice", "1\n2\n")
	if err := os.Chmod(b.path("move"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"update", "move", "delete", "twice"} {
		b.read(name)
	}
	result := b.must("apply_patch", patch(
		"*** Update File: update", "-a", "+b",
		"*** Add File: dir/new", "+one", "+", "+three",
		"*** Update File: move", "*** Move to: dir/moved", "-m", "+M",
		"*** Delete File: delete",
		"*** Add File: delete", "+again",
		"*** Update File: twice", "-1", "+one",
		"", "*** Update File: twice", "-2", "+two",
	))
	b.want("update", "b\n")
	b.want("dir/new", "one\n\nthree\n")
	b.want("dir/moved", "M\n")
	b.want("delete", "again\n")
	b.want("twice", "one\ntwo\n")
	b.wantNames("update", "dir", "dir/new", "dir/moved", "delete", "twice")
	if info, err := os.Stat(b.path("dir/moved")); err != nil || info.Mode().Perm() != 0o755 && os.PathSeparator == '/' {
		t.Errorf("mode of the moved file = %v, %v, want it kept", info.Mode(), err)
	}
	want := "Patch applied:\nM update\nA dir/new\nD move\nA dir/moved\nM delete\nM twice"
	if diff := cmp.Diff(want, result.Output); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	var names []string
	for _, name := range []string{"update", "dir/new", "move", "dir/moved", "delete", "twice"} {
		names = append(names, b.path(name))
	}
	if diff := cmp.Diff(names, result.Metadata["files"]); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	b.must("apply_patch", patch("*** Delete File: update", "*** Update File: dir/moved", "*** Move to: n", "*** Update File: n", "*** Move to: update"))
	if info, err := os.Stat(b.path("update")); err != nil || info.Mode().Perm() != 0o755 && os.PathSeparator == '/' {
		t.Errorf("mode of the file that replaces another = %v, %v, want that of the moved one", info.Mode(), err)
	}
	b.edit("update", "M", "x") // it knows all that it wrote
	b.edit("twice", "two", "x")
}

func TestPatchRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("f.go", "package f\n\nfunc One() {\n\treturn 1\n}\n")
	b.put("other", "x\n")
	b.put("unread", "x\n")
	b.read("f.go")
	b.read("other")
	first := []string{"*** Update File: other", "-x", "+y"} // good, but must not be written either
	tests := map[string]struct {
		lines []string
		texts []string
	}{
		"no such lines":  {[]string{"*** Update File: f.go", "@@", " package f", "@@", "-func Two() {", "+x"}, nil},
		"hunk":           {[]string{"*** Update File: f.go", "@@", "-package f", "+package g", "@@", " func One() {", "-  return 2", "+x"}, []string{`hunk 2 of "f.go"`, "Expected:\n  func One() {\n    return 2", "line 4 differs. The file there:\n2: \n3: func One() {\n4: \treturn 1\n"}},
		"context":        {[]string{"*** Update File: f.go", "@@ func Three", "-x", "+y"}, []string{"the line after @@"}},
		"wrong order":    {[]string{"*** Update File: f.go", "@@", "-\treturn 1", "+x", "@@", "-package f", "+y"}, []string{"but at line 1", "in the order of the file"}},
		"below context":  {[]string{"*** Update File: f.go", "@@ func One() {", "-package f", "+y"}, []string{"after line 3, but at line 1"}},
		"add existing":   {[]string{"*** Add File: f.go", "+x"}, []string{"already exists"}},
		"update missing": {[]string{"*** Update File: g.go", "-x", "+y"}, []string{`did you mean "f.go"`}},
		"delete missing": {[]string{"*** Delete File: g.go"}, []string{"does not exist"}},
		"not read":       {[]string{"*** Update File: unread", "-x", "+y"}, []string{"read it first"}},
		"move onto":      {[]string{"*** Update File: f.go", "*** Move to: unread", "-package f", "+x"}, []string{`cannot be moved to "unread"`}},
		"add twice":      {[]string{"*** Add File: n", "+x", "*** Add File: n", "+x"}, []string{"already exists"}},
		"deleted before": {[]string{"*** Delete File: f.go", "*** Update File: f.go", "-x", "+y"}, []string{"does not exist"}},
		"deleted twice":  {[]string{"*** Delete File: f.go", "*** Delete File: f.go"}, []string{"the patch deletes or moves it"}},
		"move onto new":  {[]string{"*** Add File: n", "+x", "*** Update File: f.go", "*** Move to: n"}, []string{"which the patch creates"}},
		"move below":     {[]string{"*** Update File: f.go", "*** Move to: unread/n"}, []string{`"f.go" cannot be moved to "unread/n": `}},
		"empty line":     {[]string{"*** Add File: n", "+x", "", "+y"}, []string{"every line of an added file starts with +"}},
		"no operation":   {[]string{"*** Rename File: f.go"}, []string{`expected "*** Add File: "`}},
		"directory":      {[]string{"*** Delete File: ."}, []string{"it is a directory"}},
		"no sign":        {[]string{"*** Update File: f.go", "@@", "package f"}, []string{"bad patch: line 7", "starts with"}},
		"no change":      {[]string{"*** Update File: f.go", "@@", " package f"}, []string{"a hunk without any line"}},
		"no path":        {[]string{"*** Delete File: "}, []string{"missing path after"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			nested := *b
			nested.t = t
			nested.fails("apply_patch", patch(append(first, tt.lines...)...), tt.texts...)
			nested.want("other", "x\n")
			nested.want("f.go", "package f\n\nfunc One() {\n\treturn 1\n}\n")
			nested.wantNames("f.go", "other", "unread")
		})
	}
	b.fails("apply_patch", sdk.Object{"patchText": "*** Add File: x\n+y"}, `"*** Begin Patch" is missing`)
	b.fails("apply_patch", sdk.Object{"patchText": "*** Begin Patch\n*** Add File: x\n+y"}, `"*** End Patch" is missing`)
	b.fails("apply_patch", sdk.Object{"patchText": "*** Begin Patch\n*** End Patch"}, "no file is changed")
	b.fails("apply_patch", patch("*** Add File: x", "+y", "*** Delete File: x"), "no file is changed")
	b.fails("apply_patch", sdk.Object{"patchText": "*** Begin Patch\n*** Add File: x\n+y\n*** End Patch\n*** Begin Patch\n*** Add File: z\n+y\n*** End Patch"}, "there are two")
}

func TestPatchWrapped(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.must("apply_patch", sdk.Object{"patchText": "apply_patch <<'EOF'\n*** Begin Patch\r\n*** Add File: x\r\n+y\r\n*** End Patch\r\nEOF\n"})
	b.want("x", "y\n")
	b.must("apply_patch", sdk.Object{"patchText": "```diff\n*** Begin Patch\n*** Add File: z\n+y\n*** End Patch\n```"})
	b.want("z", "y\n")
	b.fails("apply_patch", sdk.Object{"patchText": "```\n*** Begin Patch\nx\n*** End Patch\n```"}, "line 3")
	b.must("apply_patch", sdk.Object{"patchText": " *** Begin Patch\n  *** Update File: x\n-y\n+ *** End Patch\n  *** End Patch \n"})
	b.want("x", " *** End Patch\n")
}

// macOS decomposes letters, models compose them.
func TestPatchDecomposed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("f", "cafe\u0301\nb\n")
	b.read("f")
	b.must("apply_patch", patch("*** Update File: f", " caf\u00e9", "-b", "+c"))
	b.want("f", "cafe\u0301\nc\n")
}

func TestPatchLink(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("real", "a\n")
	if err := os.Symlink("real", b.path("link")); err != nil {
		t.Skip(err)
	}
	b.read("link")
	b.fails("apply_patch", patch("*** Update File: link", "*** Move to: real"), `"link" cannot be moved to "real", which exists`)
	b.must("apply_patch", patch("*** Delete File: link"))
	b.wantNames("real")
	b.want("real", "a\n")
}

// The user reads how much of a patch the question does not show.
func TestPatchDiffSaysHowMuchIsMissing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const lines = 5000
	for name, args := range map[string]sdk.Object{
		"one file":  patch("*** Add File: a", strings.Repeat("+some line\n", lines-1)+"+some line"),
		"two files": patch("*** Add File: a", strings.Repeat("+some line\n", lines-1)+"+some line", "*** Add File: b", "+x"),
	} {
		requests, err := b.tool("apply_patch").(sdk.ToolPreparer).Prepare(t.Context(), b.call("apply_patch", args))
		if err != nil {
			t.Fatal(err)
		}
		diff := requests[0].Metadata["diff"].(string)
		shown, note, _ := strings.Cut(diff, "… ")
		want := lines + 3 - strings.Count(shown, "\n")
		if name == "two files" {
			want += 4
		}
		if note != fmt.Sprintf("%d more lines\n", want) {
			t.Errorf("%s: the diff ends with %q, want %d more lines", name, note, want)
		}
	}
}
