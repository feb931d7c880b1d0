package files_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/sdk"
)

func TestEdit(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ content, old, new, want string }{
		"exact":                  {"a\nb\nc\n", "b", "B", "a\nB\nc\n"},
		"no final newline":       {"a\nb", "b", "B", "a\nB"},
		"several lines":          {"a\nb\nc\n", "a\nb\n", "x\n", "x\nc\n"},
		"delete":                 {"a\nb\nc\n", "b\n", "", "a\nc\n"},
		"CRLF":                   {"a\r\nb\r\nc\r\n", "a\nb", "x\ny", "x\r\ny\r\nc\r\n"},
		"CRLF in the arguments":  {"a\nb\n", "a\r\nb", "x\r\ny", "x\ny\n"},
		"mixed, mostly LF":       {"a\r\nb\nc\nd\n", "b\nc", "x\ny", "a\r\nx\ny\nd\n"},
		"mixed, mostly CRLF":     {"a\r\nb\nc\r\nd\r\n", "b\nc", "x\ny", "a\r\nx\r\ny\r\nd\r\n"},
		"from a CRLF on":         {"a\r\nb\r\n", "\nb", "\nc", "a\r\nc\r\n"},
		"up to a CRLF":           {"a\r\nb\r\n", "a\n", "c\n", "c\r\nb\r\n"},
		"lone CR":                {"a\rb\nc\n", "c", "d", "a\rb\nd\n"},
		"byte order mark":        {"\ufeffa\nb\n", "a\n", "x\n", "\ufeffx\nb\n"},
		"not UTF-8":              {"\xff\xfe\nb\n", "b", "c", "\xff\xfe\nc\n"},
		"indentation":            {"if x {\n\t\tfoo()\n\t\tbar()\n}\n", "  foo()\n  bar()\n", "\t\tbaz()\n", "if x {\n\t\tbaz()\n}\n"},
		"indentation of several": {"  a\n    b\n a\n b\n", "a\nb", "x", "  a\n    b\nx\n"},
		"end of the line":        {"a  \n\ta\n", " a\n", "x\n", "a  \nx\n"},
		"trailing space":         {"a  \nb\nc\n", "a\nb\n", "x\n", "x\nc\n"},
		"anchors":                {"func f() {\n\tx := computeTheThing(1)\n\treturn x\n}\n", "func f() {\n\tx := computeTheThings(1)\n\treturn x\n}", "gone", "gone\n"},
		"anchors, longer":        {"begin\naaa1\naaa2\naaa3\nextra\nend\n", "begin\naaa1\naaa2\naaa3\nextras\nend", "x", "x\n"},
		"white space":            {"if  (a   ==  b)  {\n", "if (a == b) {", "if (a) {", "if (a) {\n"},
		"white space in a line":  {"x = f(a,  b) + 1\n", "f(a, b)", "g", "x = g + 1\n"},
		"white space, lines":     {"a   b\nc  d\n", "a b\nc d\n", "x\n", "x\n"},
		"decomposed letters":     {"a cafe\u0301 b\n", "caf\u00e9", "tea", "a tea b\n"},
		"decomposed lines":       {"Раи\u0306он\nb\n", "Ра\u0439он\nb\n", "x\n", "x\n"},
		"escapes":                {"a := \"x\"\nb\n", `a := \"x\"\nb`, "c", "c\n"},
		"outer white space":      {"foo(a)\n", "\n\nfoo(a)\n\n", "bar", "bar\n"},
		"context":                {"start\nsame\nxxxxxxxxxxx\nstop\n", "start\nsame\nyy\nstop", "z", "z\n"},
		"regexp characters":      {"a.b(c)[d]\n", "a.b(c)[d]", "$1 ${x}", "$1 ${x}\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.put("f.txt", tt.content)
			b.read("f.txt")
			b.edit("f.txt", tt.old, tt.new)
			b.want("f.txt", tt.want)
			b.wantNames("f.txt")
		})
	}
}

func TestEditShowsWhatItGuessed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("f.py", "def f():\n    if x:\n        a()\n    b()\n")
	b.read("f.py")
	result := b.edit("f.py", "if x:\n    a()", "if y:\n    a()")
	if !strings.HasSuffix(result.Output, "Check the result:\n2: if y:\n3:     a()") {
		t.Errorf("output = %q", result.Output)
	}
}

func TestEditReplaceAll(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("f.txt", "a b\r\na c\r\n aa\r\n")
	b.read("f.txt")
	result := b.must("edit", sdk.Object{"filePath": "f.txt", "oldString": "a", "newString": "x", "replaceAll": true})
	b.want("f.txt", "x b\r\nx c\r\n xx\r\n")
	if !strings.Contains(result.Output, "4 places") {
		t.Errorf("output = %q", result.Output)
	}
}

func TestEditRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("f.go", "package f\n\nfunc One() {\n\treturn 1\n}\n\nfunc Two() {\n\treturn 2\n}\n")
	b.put("twice", "x = 1\ny = 2\nx = 1\n")
	b.put("like.txt", "head\nvalue number one\nfoot\nhead\nvalue number two\nfoot\n")
	b.put("big.txt", "start\n"+strings.Repeat("filler\n", 3)+"end\n")
	for _, name := range []string{"f.go", "twice", "like.txt", "big.txt"} {
		b.read(name)
	}
	b.put("unread", "x\n")
	tests := map[string]struct {
		args  sdk.Object
		texts []string
	}{
		"same":          {edit("f.go", "x", "x"), []string{"are equal"}},
		"not read":      {edit("unread", "x", "y"), []string{`"unread" exists; read it first`}},
		"missing":       {edit("g.go", "x", "y"), []string{`"g.go": file does not exist; did you mean "f.go"?`}},
		"misplaced":     {edit("/workspace-of-nowhere/f.go", "x", "y"), []string{`did you mean "f.go"?`}},
		"empty old":     {edit("f.go", "", "y"), []string{"exists and oldString is empty"}},
		"ambiguous":     {edit("twice", "x = 1", "z"), []string{"2 times, at lines 1, 3", "replaceAll"}},
		"likely twice":  {edit("like.txt", "head\nvalue number ten\nfoot", "z"), []string{"2 times (by its first and last line), at lines 1, 4"}},
		"another end":   {edit("like.txt", "head\nvalue number one\nfeet", "z"), []string{"line 3 differs"}},
		"beyond":        {edit("like.txt", "value number two\nfoot\nend", "z"), []string{"line 5: 2 of 3 lines match; the file ends after line 6. The file there:\n5: value number two\n6: foot"}},
		"directory":     {edit(".", "x", "y"), []string{"it is a directory"}},
		"white space":   {edit("f.go", "func One() {\n    panic(nil)\n}", "z"), []string{"line 3: 2 of 3 lines match", "line 4 differs. The file there:\n2: \n3: func One() {\n4: \treturn 1\n5: }\n"}},
		"line numbers":  {edit("f.go", "3: func One() {\n4: \treturn 1\n", "z"), []string{"omit the \"N: \""}},
		"case":          {edit("f.go", "func two() {", "z"), []string{"line 7 differs. The file there:\n5: }\n6: \n7: func Two() {\n"}},
		"nothing like":  {edit("f.go", "zzzzzzzzzzzzzzzzzz", "z"), []string{"Nothing in the file is similar"}},
		"escapes":       {edit("f.go", `package f\n\nfunc One() {\n\treturn 1`, "z"), []string{"the text at line 1", "(after unescaping), which is much longer"}},
		"made before":   {edit("f.go", "\treturn 3", "\treturn 1"), []string{"newString is already at line 4"}},
		"there already": {edit("twice", "y  =  2", "y = 2"), []string{`"twice" already has newString at line 2`}},
		"too large":     {edit("big.txt", "start end", "z"), []string{"not in"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			nested := *b
			nested.t = t
			nested.fails("edit", tt.args, tt.texts...)
		})
	}
	b.want("twice", "x = 1\ny = 2\nx = 1\n")
	b.put("many.txt", strings.Repeat("a ", 1<<20)+" ")
	b.read("many.txt")
	b.fails("edit", map[string]any{"filePath": "many.txt", "oldString": "a", "newString": "0123456789", "replaceAll": true}, "replacing 1048576 places", "larger than 10 MB")
	b.fails("edit", map[string]any{"filePath": "many.txt", "oldString": " ", "newString": "-", "replaceAll": true}, "1048577 times", "sed")
}

// An edit of a missing file outside the project names no other file there: the user has not approved that the directory is read.
func TestMissingOutsideNamesNoOther(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secrets.txt"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(outside, "secret.txt")
	for tool, args := range map[string]sdk.Object{"edit": edit(missing, "x", "y"), "apply_patch": patch("*** Delete File: " + missing)} {
		_, err := b.tool(tool).(sdk.ToolPreparer).Prepare(t.Context(), b.call(tool, args))
		if !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "secrets") {
			t.Errorf("%s: %v, want that the file does not exist, and no other name", tool, err)
		}
	}
}

func TestEditCreates(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.edit("new/dir/f.txt", "", "hello\n")
	b.want("new/dir/f.txt", "hello\n")
	b.edit("new/dir/f.txt", "hello", "bye") // it knows what it wrote
	b.want("new/dir/f.txt", "bye\n")
	b.wantNames("new", "new/dir", "new/dir/f.txt")
}

func TestEditMetadata(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("sub/f.txt", "a\nb\nc\n")
	b.read("sub/f.txt")
	result := b.edit("sub/f.txt", "b", "x\ny")
	hash := result.Metadata["hash"]
	delete(result.Metadata, "hash")
	want := &sdk.ToolResult{
		Title:  "sub/f.txt",
		Output: "Edit applied to sub/f.txt at line 2.",
		Metadata: sdk.Object{
			"filepath": b.path("sub/f.txt"),
			"diff":     "--- sub/f.txt\n+++ sub/f.txt\n@@ -1,3 +1,4 @@\n a\n-b\n+x\n+y\n c\n",
			"filediff": map[string]any{"file": b.path("sub/f.txt"), "additions": 2, "deletions": 1},
			"files":    []string{b.path("sub/f.txt")},
		},
	}
	if diff := cmp.Diff(want, result); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	if again := b.read("sub/f.txt").Metadata["hash"]; again != hash {
		t.Errorf("hash of the edit = %v, of the read after it = %v", hash, again)
	}
}

func TestEditDiffIsBounded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	result := b.must("write", sdk.Object{"filePath": "big", "content": strings.Repeat("0123456789\n", 20000)})
	diff, _ := result.Metadata["diff"].(string)
	if len(diff) > 40<<10 || !strings.Contains(diff, "more lines") {
		t.Errorf("a diff of %d bytes ends with %q", len(diff), diff[max(0, len(diff)-50):])
	}
	if got := result.Metadata["filediff"].(map[string]any)["additions"]; got != 20000 {
		t.Errorf("additions = %v, want 20000", got)
	}
}

// TestParallelEdits is what happens when one step has many calls for one file.
func TestParallelEdits(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const n = 40
	var content, want strings.Builder
	for i := range n {
		fmt.Fprintf(&content, "line %02d\n", i)
		fmt.Fprintf(&want, "LINE %02d\n", i)
	}
	b.put("f.txt", content.String())
	b.read("f.txt")
	calls := make([]*sdk.ToolCall, n)
	for i := range calls {
		calls[i] = b.call("edit", edit("f.txt", fmt.Sprintf("line %02d", i), fmt.Sprintf("LINE %02d", i)))
		if _, err := b.tool("edit").(sdk.ToolPreparer).Prepare(context.Background(), calls[i]); err != nil {
			t.Fatal(err)
		}
	}
	var running sync.WaitGroup
	for _, call := range calls {
		running.Go(func() {
			if _, err := b.tool("edit").Execute(context.Background(), call); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	b.want("f.txt", want.String())
	b.wantNames("f.txt")
}

func TestEditCancelledWhileWaiting(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("f.txt", "a\n")
	b.read("f.txt")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range 50 { // whichever of the lock and the context wins, nothing may stay locked
		if _, err := b.tool("edit").Execute(ctx, b.call("edit", edit("f.txt", "a", "b"))); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		b.put("f.txt", "a\n")
		b.read("f.txt")
	}
	b.edit("f.txt", "a", "c")
	b.want("f.txt", "c\n")
}

func TestWrite(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ content, write, want string }{
		"LF":                   {"a\nb\n", "x\ny\n", "x\ny\n"},
		"CRLF kept":            {"a\r\nb\r\n", "x\ny\n", "x\r\ny\r\n"},
		"own CRLF":             {"a\nb\n", "x\r\n", "x\r\n"},
		"byte order mark kept": {"\ufeffa\n", "x\n", "\ufeffx\n"},
		"own byte order mark":  {"\ufeffa\n", "\ufeffx\n", "\ufeffx\n"},
		"empty":                {"a\n", "", ""},
		"was empty":            {"", "x", "x"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.put("f", tt.content)
			write := sdk.Object{"filePath": "f", "content": tt.write}
			b.fails("write", write, "read it first")
			b.read("f")
			b.must("write", write)
			b.want("f", tt.want)
		})
	}
	b := newBench(t)
	result := b.must("write", sdk.Object{"filePath": "a/b/new.txt", "content": "1\n2\n"})
	if result.Output != "Created a/b/new.txt: 2 lines." || result.Metadata["exists"] != false {
		t.Errorf("result = %q, %v", result.Output, result.Metadata)
	}
	b.put("data.bin", "\x00\x01")
	b.fails("write", sdk.Object{"filePath": "data.bin", "content": "x"}, "binary file", "delete it")
	b.put("file", "x")
	b.fails("read", sdk.Object{"filePath": "file/x"}, "file/x")
	if _, err := b.run("write", sdk.Object{"filePath": "file/x", "content": "x"}); err == nil {
		t.Error("a file below a file was written")
	}
}

// TestNotUTF8: read shows an unknown byte as U+FFFD. No tool writes that over the byte, or UTF-8 into a file of another encoding.
func TestNotUTF8(t *testing.T) {
	t.Parallel()
	const content = "first // caf\xe9\nx = 1\nlast // na\xefve\n"
	b := newBench(t)
	b.put("f", content)
	b.read("f")
	const text, says = "first // caf\ufffd\nx = 2\nlast // na\ufffdve\n", `"f" is not UTF-8`
	b.fails("write", sdk.Object{"filePath": "f", "content": text}, says)
	b.fails("edit", edit("f", "caf\ufffd", "caf\ufffd au lait"), says)
	b.fails("apply_patch", patch("*** Update File: f", "@@", "-x = 1", "+x = 2 // \ufffd"), says)
	b.fails("edit", edit("f", "x = 1", "x = 1 // né"), says, "iconv")
	b.fails("write", sdk.Object{"filePath": "f", "content": "first // café\n"}, says)
	b.want("f", content)
	b.edit("f", "x = 1", "x = 2")
	b.must("apply_patch", patch("*** Update File: f", " x = 2", "+y = 3"))
	b.want("f", "first // caf\xe9\nx = 2\ny = 3\nlast // na\xefve\n")
	b.put("f", "mostly UTF-8: é, é, \xff\n")
	b.read("f")
	b.edit("f", "mostly", "très")
	b.want("f", "très UTF-8: é, é, \xff\n")
	b.put("f", "// \xc4\xa3\xbf\xe9\nx = 1\n") // GBK, whose first two bytes could be a character in UTF-8
	b.read("f")
	b.fails("edit", edit("f", "x = 1", "x = 1 // né"), says)
}

func TestChangedOnDisk(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("f.txt", "one\n")
	b.read("f.txt")
	b.put("f.txt", "zero\r\none\r\ntwo\r\n")
	b.fails("edit", edit("f.txt", "one\ntwo", "three"), "changed on disk since it was read; read it again", "at line 2 now")
	b.put("f.txt", "two\n")
	b.fails("edit", edit("f.txt", "two", "three"), "changed on disk since it was read; read it again")
	b.fails("write", sdk.Object{"filePath": "f.txt", "content": "x"}, "read it again")
	b.fails("apply_patch", patch("*** Delete File: f.txt"), "read it again")
	b.want("f.txt", "two\n")
	b.must("read", sdk.Object{"filePath": "f.txt", "offset": 1, "limit": 1})
	b.edit("f.txt", "two", "three")

	other := *b
	other.session = "ses_2"
	other.fails("edit", edit("f.txt", "three", "four"), "read it first")
}

func TestLinkIsWrittenThrough(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("real/f.txt", "a\n")
	if err := os.Symlink("real/f.txt", b.path("link")); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink("real/new.txt", b.path("dangling")); err != nil {
		t.Fatal(err)
	}
	b.read("link")
	b.edit("link", "a", "b")
	b.edit("real/f.txt", "b", "c") // seen under its other name
	b.want("real/f.txt", "c\n")
	b.must("write", sdk.Object{"filePath": "dangling", "content": "new\n"})
	b.want("real/new.txt", "new\n")
	for _, name := range []string{"link", "dangling"} {
		if info, err := os.Lstat(b.path(name)); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is not a link any more", name)
		}
	}
}
