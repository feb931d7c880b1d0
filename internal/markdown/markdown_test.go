package markdown_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/internal/markdown"
)

var update = flag.Bool("update", false, "write the golden files")

// TestRender renders each file of testdata in every style. Escape characters are written as ␛.
func TestRender(t *testing.T) {
	t.Parallel()
	overflow := markdown.Style{Overflow: true}
	files, err := filepath.Glob("testdata/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		for name, c := range map[string]struct {
			style markdown.Style
			width int
		}{
			"plain60": {markdown.Style{}, 60}, "plain30": {markdown.Style{}, 30}, "overflow20": {overflow, 20},
			"basic80": {markdown.Basic(), 80}, "true60": {markdown.True(true), 60},
		} {
			t.Run(filepath.Base(file)+"/"+name, func(t *testing.T) {
				t.Parallel()
				source, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				have := strings.Join(markdown.Render(string(source), c.width, c.style), "\n") + "\n"
				have = strings.ReplaceAll(have, "\x1b", "␛")
				golden := strings.TrimSuffix(file, ".md") + "." + name + ".golden"
				if *update {
					if err := os.WriteFile(golden, []byte(have), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(golden)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), have); diff != "" {
					t.Errorf("-want +have:\n%s", diff)
				}
			})
		}
	}
}

// TestPieces checks that how a text is cut does not matter, and that the open block never changes what is above it.
func TestPieces(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/all.md")
	if err != nil {
		t.Fatal(err)
	}
	source := string(data)
	want := markdown.Render(source, 60, markdown.Basic())
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		s := markdown.NewStream(60, markdown.Basic())
		var have []string
		for rest := source; rest != ""; {
			n := min(1+random.IntN(40), len(rest))
			s.Write(rest[:n])
			rest = rest[n:]
			have = append(have, s.Take()...)
			s.Open()
		}
		s.Close()
		if diff := cmp.Diff(want, append(have, s.Take()...)); diff != "" {
			t.Fatalf("seed %d (-want +have):\n%s", seed, diff)
		}
	}
}

// TestOpen types a text and compares what is shown meanwhile.
func TestOpen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		source       string
		closed, open []string
	}{
		"nothing":         {"", nil, nil},
		"paragraph":       {"one\ntwo", nil, []string{"one", "two"}},
		"next paragraph":  {"one\n\ntwo", []string{"one"}, []string{"", "two"}},
		"closed heading":  {"# one\ntw", []string{"# one"}, []string{"tw"}},
		"item":            {"- one\n- two\n- th", []string{"• one"}, []string{"• two", "• th"}},
		"numbered":        {"1. one\n1. two\n1. thr", []string{"1. one"}, []string{"2. two", "3. thr"}},
		"tasks":           {"- [x] one\n- [ ] two\n1. [x] three", []string{"• [x] one"}, []string{"• [ ] two", "1. [x] three"}},
		"items apart":     {"- one\n\n- two\n", []string{"• one"}, []string{"", "• two"}},
		"text below item": {"- one\n\nt", nil, []string{"• one", "", "t"}},
		"code":            {"```go\na\nb", []string{"  a"}, []string{"  b"}},
		"code below text": {"x\n```\na\n\n", []string{"x", "", "  a", ""}, nil},
		"code ended":      {"```\na\n```\nx", []string{"  a"}, []string{"", "x"}},
		"table":           {"|a|\n|-|\n|b|\n", nil, []string{"a", "─", "b"}},
		"blank lines":     {"\n\n  \n", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := markdown.NewStream(40, markdown.Style{})
			s.Write(c.source)
			if diff := cmp.Diff([][]string{c.closed, c.open}, [][]string{s.Take(), s.Open()}); diff != "" {
				t.Errorf("-want +have:\n%s", diff)
			}
		})
	}
}

// TestHostile renders texts that make parsers slow. The bound is far above what the slowest of them needs under the race detector.
func TestHostile(t *testing.T) {
	t.Parallel()
	const size = 30_000
	for _, piece := range []string{"*a ", "[", "](", "`", "> ", "- ", "<a ", "![", "**a*", "| ", "&#27;", "~", "\\", "1. ", "_a", "\n-", "a", "漢", "\t", "[a](b", "|a|\n|-|\n", "``` \n", "\\'"} {
		begun := time.Now()
		lines := markdown.Render(strings.Repeat(piece, size/len(piece)), 80, markdown.Basic())
		if took := time.Since(begun); took > 20*time.Second {
			t.Errorf("%q: %d lines took %s", piece, len(lines), took)
		} else {
			t.Logf("%q: %d lines took %s", piece, len(lines), took)
		}
	}
}

// TestBounds checks the rules that keep rendering linear.
func TestBounds(t *testing.T) {
	t.Parallel()
	const rows = 2500
	var table strings.Builder
	table.WriteString("|n|text|\n|-|-|\n")
	for i := range rows {
		fmt.Fprintf(&table, "|%d|row|\n", i)
	}
	lines := markdown.Render(table.String(), 80, markdown.Style{})
	seen := 0
	for _, line := range lines {
		if number, text, is := strings.Cut(line, "│"); is && strings.TrimSpace(text) == "row" && strings.TrimSpace(number) == fmt.Sprint(seen) {
			seen++
		}
	}
	if seen != rows || strings.Contains(strings.Join(lines, "\n"), "|") {
		t.Errorf("a table of %d rows became %d rows", rows, seen)
	}
	for name, sparse := range map[string]string{
		"cells": strings.Repeat("|a", 100) + "\n" + strings.Repeat("|-", 100) + "\n" + strings.Repeat("|x\n", 1000),
		"names": "|" + strings.Repeat("a", 3000) + strings.Repeat("|a", 20) + "\n" + strings.Repeat("|-", 21) + "\n" + strings.Repeat("|x"+strings.Repeat("|", 20)+"\n", 1000),
	} {
		if lines := markdown.Render(sparse, 80, markdown.Style{}); len(lines) > 2000 {
			t.Errorf("%s: %d bytes became %d lines", name, len(sparse), len(lines))
		}
	}
	long := strings.Repeat("  `x` [a](b\n", 1000)
	have := markdown.Render("- item\n\n"+long, 80, markdown.Basic())
	if last := have[len(have)-1]; len(have) != 1002 || last != "  `x` [a](b" {
		t.Errorf("a long paragraph of an item became %d lines that end with %q", len(have), last)
	}
}

// Terminals differ in the width of joined emoji; no line is too long for either kind.
func TestJoinedEmoji(t *testing.T) {
	t.Parallel()
	for _, line := range markdown.Render(strings.Repeat("words 👩‍💻 and 👍🏽 ", 20), 40, markdown.Style{}) {
		if joined, apart := ansi.StringWidth(line), ansi.StringWidthWc(line); max(joined, apart) > 40 {
			t.Errorf("%d or %d columns: %s", joined, apart, line)
		}
	}
}

// A cell is as wide as its lines are counted, also with emoji whose width terminals disagree about in different ways.
func TestEmojiInATable(t *testing.T) {
	t.Parallel()
	if lines := markdown.Render("|a|b|\n|-|-|\n|done ❤️ 👩‍💻|x|\n", 40, markdown.Style{}); len(lines) != 3 {
		t.Errorf("a row was broken:\n%s", strings.Join(lines, "\n"))
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	style := markdown.Style{Added: "32", Removed: "31", Hunk: "36", File: "1"}
	for diff, want := range map[string]string{
		"--- a\n+++ b\n@@ -1,2 +1,2 @@\n-\told\n+\x1b[2Jnew\n thus\n": "1:--- a|1:+++ b|36:@@ -1,2 +1,2 @@|31:-   old|32:+\\u{1b}[2Jnew| thus",
		// comments of SQL and Lua, and then another file
		"@@ -1,3 +1 @@\n--- x\n--- y\n\n+++ z\n\\ No newline\n--- a\n+++ b": "36:@@ -1,3 +1 @@|31:--- x|31:--- y||1:+++ z|\\ No newline|1:--- a|1:+++ b",
		"@@ -1,3 +1,3 @@\n a\n\n--- x\n\\ No newline\n+++ y":                "36:@@ -1,3 +1,3 @@| a||31:--- x|\\ No newline|32:+++ y",
		"@@ -0,0 +1,2 @@\n+++ i;\n… 1 line\n--- a":                          "36:@@ -0,0 +1,2 @@|32:+++ i;|… 1 line|1:--- a",
		"@@ -1,9 +1,9 @@\n-x\ndiff --git a b\n--- a":                        "36:@@ -1,9 +1,9 @@|31:-x|1:diff --git a b|1:--- a",
		"@@ @@\n-x\n+y": "36:@@ @@|31:-x|32:+y",
	} {
		have := strings.Join(style.Diff(diff), "|")
		have = strings.NewReplacer("\x1b[0m", "", "\x1b[", "", "m", ":").Replace(have)
		if have != want {
			t.Errorf("Diff(%q)\n have %q\n want %q", diff, have, want)
		}
	}
	// Fenced code is painted in the same way.
	const diff = "@@ -1,2 +1 @@\n\n--- x"
	for i, line := range markdown.Render("```diff\n"+diff+"\n```", 40, style) {
		if want := style.Diff(diff)[i]; strings.TrimPrefix(line, "  ") != want {
			t.Errorf("line %d of a block = %q, want %q", i, line, want)
		}
	}
}

// The lines of one file's change have numbers; notes in it and the diffs of several files have none.
func TestChange(t *testing.T) {
	t.Parallel()
	style := markdown.Style{Added: "32", Removed: "31", Hunk: "36", File: "1"}
	for diff, want := range map[string]string{
		"--- a\n+++ a\n@@ -8,3 +8,4 @@ func f\n x\n-\told\n+new\n+\x1b[2J\n\n@@ -99 +100 @@\n--- q\n+++q\n\\ No newline\n": "   8  x|31:   9 -   old|32:   9 +new|" +
			"32:  10 +\\u{1b}[2J|  11 |36:     …|31:  99 --- q|32: 100 +++q|     \\ No newline",
		"--- a\n+++ a\n@@ -0,0 +1 @@\n+x\n… 9 lines\n+y":    "32:   1 +x|     … 9 lines|32:     +y",
		"--- a\n+++ a\n@@ -1,2 +0,0 @@\n-x\n-y":             "31:   1 -x|31:   2 -y",
		"--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y":                 "1:--- a|1:+++ b|36:@@ -1 +1 @@|31:-x|32:+y",
		"--- a\n+++ a\n@@ -1 +1 @@\n-x\n--- b\n+++ b\n@@ x": "1:--- a|1:+++ a|36:@@ -1 +1 @@|31:-x|1:--- b|1:+++ b|36:@@ x",
		"Binary files a and b differ":                       "Binary files a and b differ",
		"":                                                  "",
	} {
		have := strings.Join(style.Change(diff), "|")
		have = strings.NewReplacer("\x1b[0m", "", "\x1b[", "", "m", ":").Replace(have)
		if have != want {
			t.Errorf("Change(%q)\n have %q\n want %q", diff, have, want)
		}
	}
}

// Diffs of plugins and servers control nothing, and their lines are lines of the change.
func FuzzChange(f *testing.F) {
	f.Add("--- a\n+++ a\n@@ -8,3 +8,4 @@ func f\n x\n-\told\n+new\n+\x1b[2J\n\n@@ -99 +100 @@\n--- q\n+++q\n\\ No newline\n")
	f.Add("--- a\n+++ a\n@@ -9223372036854775807,99999999999999999999 +0,0 @@\n-x\r\n@@ x\n… 9 lines\n+y")
	f.Add("--- \n+++ \n@@ @@\n@@ -1 +1 @@\n--- b\n+++ b\n")
	f.Fuzz(func(t *testing.T, diff string) {
		style := markdown.Style{}
		for _, lines := range [][]string{style.Change(diff), style.Diff(diff)} {
			if len(lines) > strings.Count(diff, "\n")+1 {
				t.Errorf("%d lines", len(lines))
			}
			for _, line := range lines {
				if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }) {
					t.Errorf("%q: control characters", line)
				}
			}
		}
	})
}

// FuzzRender checks that whatever a model writes, lines fit, control nothing, and do not depend on how the text was cut.
func FuzzRender(f *testing.F) {
	data, err := os.ReadFile("testdata/all.md")
	if err != nil {
		f.Fatal(err)
	}
	for block := range strings.SplitSeq(string(data), "\n\n") {
		f.Add(block, 7, 30)
	}
	f.Add("&#27;[31m \x1b]0;x\x07 &#x9b; \u202e [a](http://x/\x1b) <http://\u0301>", 3, 10)
	f.Add("|a|b|\n|-|-|\n"+strings.Repeat("|[a](b|`c|\n", 2000)+strings.Repeat("- > ", 60)+"x\n- y\n"+strings.Repeat("  *a _b\n", 2000), 20_000, 30)
	f.Add("```\n0\n   ```\n0", 11, 47) // the end of code and what follows it arrive together
	f.Add("00\n>\n0", 6, 97)           // a quote without lines
	f.Add("|a|b|c|\n|-|:-:|-:|\n|1|\\|2`|\n- [x] ![", 5, 12)
	f.Fuzz(func(t *testing.T, source string, cut, width int) {
		width = 10 + abs(width)%100
		lines := markdown.Render(source, width, markdown.Style{})
		for _, line := range lines {
			if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }) {
				t.Errorf("%q: control characters", line)
			}
			if n := ansi.StringWidth(line); n > width {
				t.Errorf("%q: %d of %d columns", line, n, width)
			}
		}
		cut = abs(cut) % (len(source) + 1)
		s := markdown.NewStream(width, markdown.Style{})
		s.Write(source[:cut])
		have := s.Take()
		s.Open()
		s.Write(source[cut:])
		s.Close()
		if diff := cmp.Diff(lines, append(have, s.Take()...)); diff != "" {
			t.Errorf("cut at %d:\n%s", cut, diff)
		}
	})
}

func abs(n int) int { return max(n, -(n + 1)) }

func BenchmarkRender(b *testing.B) {
	data, err := os.ReadFile("testdata/all.md")
	if err != nil {
		b.Fatal(err)
	}
	source, style := strings.Repeat(string(data)+"\n```\n\n", 10), markdown.True(true)
	b.SetBytes(int64(len(source)))
	for b.Loop() {
		markdown.Render(source, 80, style)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/(float64(len(source))/1024), "µs/KB")
}

// BenchmarkDeltas streams 20,000 deltas, and shows the open block after every 20th, as a screen does that is drawn 60 times a second.
func BenchmarkDeltas(b *testing.B) {
	for b.Loop() {
		s := markdown.NewStream(80, markdown.True(true))
		lines := 0
		for i := range 20_000 {
			s.Write(fmt.Sprintf("word%d ", i))
			if i%200 == 0 {
				s.Write("\n\n")
			}
			if i%20 == 0 {
				lines += len(s.Take()) + len(s.Open())
			}
		}
	}
}

func TestMarks(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		// A backslash before a bar is part of the table, not of code elsewhere.
		"| a | b |\n|---|---|\n| `p\\|q` | **`r\\|s`** |": "a     │ b\n──────┼──────────\n`p|q` │ **`r|s`**",
		"- grep `p\\|q`": "• grep `p\\|q`",
		// The line below a table's head aligns the columns.
		"left|right|middle|none\n:-|-:|:-:|-\na|1|m|z": "left │ right │ middle │ none\n─────┼───────┼────────┼─────\na    │     1 │   m    │ z",
		"a|right\n-|-:\nb|日":                           "a │ right\n──┼──────\nb │    日",
		// Markers below many quotes or lists are text.
		strings.Repeat(">", 22) + " a": strings.Repeat("│ ", 20) + ">> a",
		strings.Repeat("- ", 11) + "a": strings.Repeat("• ", 10) + "- a",
		"> " + strings.Repeat("- ", 10) + "a\n> " + strings.Repeat("  ", 9) + "- b\n\n---\n- c": "│ " + strings.Repeat("• ", 10) + "a\n│ " + strings.Repeat("  ", 9) + "• b\n\n" + strings.Repeat("─", 60) + "\n• c",
		"a ~~~b~~~ ~c~ `d\ne`": "a ~~~b~~~ ~~c~~ `d e`",
	} {
		if diff := cmp.Diff(want, strings.Join(markdown.Render(source, 60, markdown.Style{}), "\n")); diff != "" {
			t.Errorf("%q (-want +have):\n%s", source, diff)
		}
	}
}
