package highlight_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/internal/highlight"
)

// marked writes tokens as text: c‹…› for comments, s‹…› for strings, n‹…› for numbers and k‹…› for keywords.
func marked(tokens []highlight.Token) string {
	var b strings.Builder
	for _, t := range tokens {
		if t.Kind == highlight.Text {
			b.WriteString(t.Text)
			continue
		}
		b.WriteString(string(" csnk"[t.Kind]) + "‹" + t.Text + "›")
	}
	return b.String()
}

func TestLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ language, code, want string }{
		"go": {"go", "func f(x int) string { // why\n\treturn `a\\` + \"b\\\"\" + 'c' + x.type\n}",
			"k‹func› f(x k‹int›) k‹string› { c‹// why›\n\tk‹return› s‹`a\\`› + s‹\"b\\\"\"› + s‹'c'› + x.type\n}"},
		"go raw string": {"golang", "s := `a\nif \\` + 0x1F", "s := s‹`a›\ns‹if \\`› + n‹0x1F›"},
		"block comment": {"js", "a /* b\nc */ let x = `t${1}`", "a c‹/* b›\nc‹c */› k‹let› x = s‹`t${1}`›"},
		"lifetime":      {"rust", `fn f<'a>(x: &'a str) -> char { '\n' }`, `k‹fn› f<'a>(x: &'a k‹str›) -> k‹char› { '\n' }`},
		"python":        {"Python", "def f(self): # no\n  \"\"\"doc\n  if\"\"\"; return f'x'", "k‹def› f(k‹self›): c‹# no›\n  s‹\"\"\"doc›\ns‹  if\"\"\"›; k‹return› fs‹'x'›"},
		"shell":         {"sh", "if [ $# -gt 1 ]; then # x\necho \"a\\\"b\" 'c\\'", "k‹if› [ $# -gt n‹1› ]; k‹then› c‹# x›\nk‹echo› s‹\"a\\\"b\"› s‹'c\\'›"},
		"sql":           {"sql", "SELECT x from t -- all", "k‹SELECT› x k‹from› t c‹-- all›"},
		"preprocessor":  {"c", "#include <a.h>\n#x !true", "k‹#include› <a.h>\n#x !true"},
		"json":          {"json", `{"a": [1.5e3, true]}`, `{s‹"a"›: [n‹1.5e3›, k‹true›]}`},
		"long line":     {"go", "/* a\n" + strings.Repeat("x", 5000) + "\nif", "c‹/* a›\n" + strings.Repeat("x", 5000) + "\nk‹if›"},
		"apostrophes":   {"js", `it's \'a\'`, `it's \'a\'`},
		"open string":   {"go", `x := "abc`, `x := s‹"abc›`},
		"apostrophe":    {"js", `// don't` + "\nit's", `c‹// don't›` + "\nit's"},
		"unknown":       {"klingon", "if x // y", "if x // y"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := highlight.Named(c.language)
			var state highlight.State
			var lines []string
			for _, line := range strings.Split(c.code, "\n") {
				var tokens []highlight.Token
				tokens, state = l.Line(line, state)
				lines = append(lines, marked(tokens))
			}
			if diff := cmp.Diff(c.want, strings.Join(lines, "\n")); diff != "" {
				t.Errorf("-want +have:\n%s", diff)
			}
		})
	}
}

func TestNamed(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"go": "go", "TSX": "typescript", "Makefile": "makefile", "Dockerfile": "dockerfile", "readme": "", "": ""} {
		have := ""
		if l := highlight.Named(name); l != nil {
			have = l.Name
		}
		if have != want {
			t.Errorf("Named(%q) = %q, want %q", name, have, want)
		}
	}
}

// FuzzLine checks that tokens are the line, whatever the line, the language and what is open.
func FuzzLine(f *testing.F) {
	for _, name := range []string{"go", "rust", "python", "sh", "html", "lua", "php", "none"} {
		f.Add(name, "a /* b\n\"c\\\" 'd' '\\u{1} `e`\n--[[ x ]] <!-- 0x1.f #if @media", "\xff'\xfe")
	}
	f.Add("none", "", "")
	f.Fuzz(func(t *testing.T, name, first, second string) {
		l := highlight.Named(name)
		var state highlight.State
		for _, line := range []string{first, second} {
			var tokens []highlight.Token
			tokens, state = l.Line(line, state)
			whole := ""
			for i, token := range tokens {
				if token.Text == "" || i > 0 && token.Kind == tokens[i-1].Kind {
					t.Errorf("%q: token %d is empty or has the kind of the previous one: %v", line, i, tokens)
				}
				whole += token.Text
			}
			if whole != line {
				t.Errorf("%q became %q", line, whole)
			}
		}
	})
}

func BenchmarkLine(b *testing.B) {
	const line = `	for i, x := range list { total += float64(x) * 1.5 } // sum "of" all`
	l := highlight.Named("go")
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		l.Line(line, highlight.State{})
	}
}
