package files

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenonhq/tenon/internal/linediff"
	"github.com/tenonhq/tenon/sdk"
)

// TestCommitFails lets the last of several changes fail after the others have been made. The error names them, and no file loses its content.
func TestCommitFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(name, content string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("update", "u\n")
	put("delete", "d\n")
	put("dir/full", "f\n")
	info, err := os.Stat(filepath.Join(dir, "update"))
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) target {
		path := filepath.Join(dir, name)
		return target{abs: path, real: path, itself: path, name: name}
	}
	err = commit(&sdk.ToolCall{Directory: dir}, []*change{
		{target: at("update"), old: info, before: []byte("u\n"), found: contentHash([]byte("u\n")), after: []byte("changed\n")},
		{target: at("delete"), before: []byte("d\n"), remove: true},
		{target: at("new/file"), after: []byte("n\n")},
		{target: at("dir"), after: []byte("cannot replace a directory\n")},
		{target: at("last"), after: []byte("not reached\n")},
	})
	if err == nil || !strings.Contains(err.Error(), "dir") || !strings.HasSuffix(err.Error(), "changed before: update, new/file") {
		t.Fatalf("commit: error = %v", err)
	}
	want := map[string]string{"update": "changed\n", "delete": "d\n", "new/file": "n\n", "dir/full": "f\n"}
	if err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if want[filepath.ToSlash(rel)] != string(content) {
			t.Errorf("%s = %q", rel, content)
		}
		delete(want, filepath.ToSlash(rel))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(want) > 0 {
		t.Errorf("gone: %v", want)
	}
}

// A file that another program writes while the new content is prepared is neither replaced nor deleted. Another file with the same content is:
// on overlayfs, opening a file with hard links for writing makes such a copy.
func TestCommitLate(t *testing.T) {
	t.Parallel()
	replace := func(path, content string) error {
		return errors.Join(os.WriteFile(path+".new", []byte(content), 0o600), os.Rename(path+".new", path))
	}
	for name, other := range map[string]func(path string) error{
		"in place": func(path string) error { return os.WriteFile(path, []byte("their longer text\n"), 0o600) },
		"replaced": func(path string) error { return replace(path, "own\n") },
		"copied":   func(path string) error { return replace(path, "old\n") },
		"created":  func(path string) error { return os.WriteFile(path, []byte("their\n"), 0o600) },
		"deleted":  os.Remove,
	} {
		for _, remove := range []bool{false, true} {
			path := filepath.Join(t.TempDir(), "f")
			c := &change{target: target{abs: path, real: path, itself: path, name: "f"}}
			if name != "created" {
				if err := os.WriteFile(path, []byte("old\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.load(); err != nil {
				t.Fatal(err)
			}
			c.after, c.remove = []byte("new\n"), remove
			if err := other(path); err != nil {
				t.Fatal(err)
			}
			want, _ := os.ReadFile(path)
			switch {
			case name == "copied" && remove:
				want = nil
			case name == "copied":
				want = c.after
			}
			err := commit(&sdk.ToolCall{}, []*change{c})
			if got, _ := os.ReadFile(path); (err == nil) != (name == "copied") || string(got) != string(want) {
				t.Errorf("%s, removed %t: error %v, content %q, want %q", name, remove, err, got, want)
			}
			if (name == "in place" || name == "replaced") && !strings.HasSuffix(fmt.Sprint(err), `: "f" changed on disk at this moment; read it again, then change it`) {
				t.Errorf("%s, removed %t: error %v", name, remove, err)
			}
		}
	}
}

// TestOccurrencesTakeTheirSpace: replaceAll may have millions of places, and a slice that grows takes five times their space.
func TestOccurrencesTakeTheirSpace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, old string
		want      int
	}{{strings.Repeat("ab", 10_000), "b", 10_000}, {"aaa", "aa", 1}, {"b", "a", 0}} {
		if got := occurrences(c.text, c.old); len(got) != c.want || cap(got) != c.want {
			t.Errorf("%d places of %q in space for %d, want %d", len(got), c.old, cap(got), c.want)
		}
	}
}

func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	h := newHistory()
	for i := range maxSessions + 10 {
		h.note(&sdk.ToolCall{SessionID: fmt.Sprint("ses_", i)}, "/f", "hash")
	}
	if last := fmt.Sprint("ses_", maxSessions+9); len(h.sessions) > maxSessions || !h.has(last, "/f") {
		t.Errorf("%d sessions, the last one: %v", len(h.sessions), h.sessions[last])
	}
}

// A file and a text that repeat a line are compared up to a limit.
func TestBlocksOfRepeatedLines(t *testing.T) {
	t.Parallel()
	for repeated, found := range map[int]bool{100: true, 3000: false} {
		want := append(slices.Repeat([]string{"a"}, repeated), "b")
		lines := append(slices.Repeat([]string{"a"}, repeated), want...)
		at := slices.Collect(blocks(lines, want, 0))
		if (len(at) == 1 && at[0] == repeated) != found {
			t.Errorf("%d lines are at %v", repeated, at)
		}
	}
}

// Each empty line that a hunk may have too many costs a search of the file.
func TestEmptyLinesAfterHunk(t *testing.T) {
	t.Parallel()
	for empty, applies := range map[int]bool{0: true, 3: true, 4: false} {
		lines := append([]hunkLine{{'-', "a"}}, slices.Repeat([]hunkLine{{' ', ""}}, empty)...)
		if _, _, err := patched("f", []byte("a\nb\n"), []hunk{{lines: lines}}); applies != (err == nil) || !applies && !errors.Is(err, errNoMatch) {
			t.Errorf("%d empty lines: %v", empty, err)
		}
	}
}

// TestClosestInRepeatedLines: the search for a similar place ends soon in a file that repeats the searched line.
func TestClosestInRepeatedLines(t *testing.T) {
	t.Parallel()
	file := slices.Repeat([]string{"return value"}, 500_000)
	asked := append(slices.Repeat([]string{"return value"}, 20_000), "other")
	begin := time.Now()
	got := closest(file, asked)
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	if want := "line 1: 20000 of 20001 lines match"; !strings.Contains(got, want) {
		t.Errorf("closest() = %.300q, want %q", got, want)
	}
}

// FuzzLocate checks that a match is where it says and that applying it changes nothing else.
func FuzzLocate(f *testing.F) {
	for _, seed := range [][3]string{
		{"a\nb\nc\n", "b", "x"}, {"  a\n  b\n", "a\nb\n", ""}, {"f(\n x\n)\n", "f(\n y\n)", "z"}, {"a\r\nb\r\n", "a\nb", "c\nd"},
		{"\ufeffa", "a", "b"}, {"a  b", "a b", "c"}, {"\"x\"\n", `\"x\"`, "y"}, {"x\n", "\nx\n", "y"}, {"aaa", "aa", "b"}, {"", "a", "b"},
		{"{\n{\na\n}\n}\n", "{\na\n}", "b"}, {"a\r\r\nb", "a\r", "b"}, {"0", "\xc6", "0"},
	} {
		f.Add(seed[0], seed[1], seed[2], false)
		f.Add(seed[0], seed[1], seed[2], true)
	}
	f.Fuzz(func(t *testing.T, content, old, new string, all bool) {
		if old == "" {
			return // not a text to replace
		}
		doc := newDocument([]byte(content))
		found, err := locate("f", doc.text, toLF(old), all)
		if err != nil {
			return
		}
		if len(found.spans) == 0 || !all && len(found.spans) > 1 {
			t.Fatalf("%d spans, all = %v", len(found.spans), all)
		}
		var replacements []replacement
		from := 0
		var want strings.Builder
		for _, s := range found.spans {
			if s.start < from || s.end < s.start || s.end > len(doc.text) {
				t.Fatalf("span %v after %d in %d bytes", s, from, len(doc.text))
			}
			want.WriteString(doc.text[from:s.start] + toLF(new))
			from = s.end
			replacements = append(replacements, replacement{s, new})
		}
		want.WriteString(doc.text[from:])
		after := doc.apply(replacements)
		plain := string(after)
		if doc.bom {
			plain = strings.TrimPrefix(plain, bom)
		}
		// A \r directly before a \n makes another line break; only then may the text differ.
		if got := toLF(plain); got != want.String() && !strings.Contains(content+new, "\r") {
			t.Errorf("after the edit the text is %q, want %q", got, want.String())
		}
		first, last := doc.offset(found.spans[0].start), doc.offset(from)
		if !strings.HasPrefix(plain, doc.raw[:first]) || !strings.HasSuffix(plain, doc.raw[last:]) {
			t.Errorf("%q changed outside of the edit: %q", content, after)
		}
	})
}

// FuzzPatch checks that no patch makes the parser or the matcher panic, and that lines which no hunk
// removes survive.
func FuzzPatch(f *testing.F) {
	for _, seed := range [][2]string{
		{"a\nb\nc\n", "*** Begin Patch\n*** Update File: f\n@@\n a\n-b\n+x\n*** End Patch"},
		{"a", "*** Begin Patch\n*** Update File: f\n@@ a\n+x\n*** End of File\n*** End Patch"},
		{"", "*** Begin Patch\n*** Add File: f\n+x\n*** Delete File: g\n*** End Patch"},
		{"a\r\nb", "cat <<EOF\n*** Begin Patch\n*** Update File: f\n*** Move to: g\n@@ -1 +1 @@ a\n-b\n*** End Patch\nEOF"},
		{"\n\n", "*** Begin Patch\n*** Update File: f\n-\n+\n\n*** End Patch"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, content, text string) {
		ops, err := parsePatch(text)
		if err != nil {
			return
		}
		for _, op := range ops {
			if op.FilePath == "" {
				t.Fatal("an operation without a file")
			}
			after, _, err := patched("f", []byte(content), op.hunks)
			if err != nil {
				continue
			}
			removed, added := 0, 0
			for _, h := range op.hunks {
				for _, l := range h.lines {
					switch l.kind {
					case '-':
						removed++
					case '+':
						added++
					}
				}
			}
			before, now := newDocument([]byte(content)).text, newDocument(after).text
			if strings.Contains(content+text, "\r") {
				continue // a \r at the end of a line makes it another line break
			}
			// A text that ends without a line break can lose or gain the count of its last, empty line.
			if got, want := linediff.Count(now), linediff.Count(before)+added-removed; got != want && strings.HasSuffix(before, "\n") {
				t.Errorf("%q has %d lines, want %d: %q", content, got, want, after)
			}
		}
	})
}

func BenchmarkRead(b *testing.B) {
	path := filepath.Join(b.TempDir(), "f.go")
	if err := os.WriteFile(path, []byte(strings.Repeat("\tif err := something(ctx, arg); err != nil {\n", 20000)), 0o600); err != nil {
		b.Fatal(err)
	}
	args := []byte(fmt.Sprintf(`{"filePath":%q,"limit":500}`, path))
	call := &sdk.ToolCall{Tool: "read", Args: args, SessionID: "ses_1", Directory: filepath.Dir(path), Worktree: filepath.Dir(path)}
	tool := New().(sdk.ToolSource).Tools()[0]
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tool.Execute(b.Context(), call); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEdit(b *testing.B) {
	text := strings.Repeat("\tif err := something(ctx, arg); err != nil {\n\t\treturn err\n\t}\n", 5000) + "func last() {\n\tfoo()\n}\n"
	for name, old := range map[string]string{
		"exact": "func last() {\n\tfoo()\n}\n", "indentation": "func last() {\n  foo()\n}\n",
		"anchors": "func last() {\n  fooo()\n}\n", "nowhere": "\tif err := nothing(like, this); err == nil {\n\t\treturn nil\n\t}\nfunc other()\n",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, err := locate("f", text, old, false)
				if (err != nil) != (name == "nowhere") {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestDiffOfLongFile checks that the diff of a long new file, which is not compared, is the one that the comparison finds.
func TestDiffOfLongFile(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"lines":      strings.Repeat("some line\n", 10_000),
		"no newline": strings.Repeat("some line\n", 10_000) + "end",
		"CRLF":       strings.Repeat("a\r\n", 40_000),
		"long lines": strings.Repeat("a", 100_000) + "\n" + strings.Repeat("b", 100_000),
	} {
		want := comparison(name, nil, []byte(content))
		if got := created(name, []byte(content)); got != want {
			t.Errorf("%s: created = %d+ %d- %.100q … %q, want %d+ %d- %.100q … %q", name,
				got.additions, got.deletions, got.text, got.text[len(got.text)-40:], want.additions, want.deletions, want.text, want.text[len(want.text)-40:])
		}
	}
}

// The forms of a file's lines are made once, not for each hunk. Not parallel: it reads what the process allocates.
func TestManyHunks(t *testing.T) {
	const n = 1000
	var content, patch strings.Builder
	for i := range n {
		fmt.Fprintf(&content, "%d \n\n\n\n\n", i)
		fmt.Fprintf(&patch, "@@\n-%d\n+x\n", i)
	}
	ops, err := parsePatch("*** Begin Patch\n*** Update File: f\n" + patch.String() + "*** End Patch")
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, _, err := patched("f", []byte(content.String()), ops[0].hunks); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if made := after.TotalAlloc - before.TotalAlloc; made > 20<<20 {
		t.Errorf("%d bytes were allocated", made)
	}
}
