package chat

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
)

// decodeAll decodes keys as the editor does, and returns what is left for want of more.
func decodeAll(b []byte) (keys []key, rest []byte) {
	for {
		k, n := nextKey(b)
		if n == 0 {
			return keys, b
		}
		keys, b = append(keys, k), b[n:]
	}
}

func TestNextKey(t *testing.T) {
	t.Parallel()
	text := func(s string) key { return key{keyText, s} }
	for in, want := range map[string][]key{
		"aé世":                            {text("a"), text("é"), text("世")},
		"\r\n\t":                         {{kind: keyEnter}, {kind: keyNewline}, {kind: keyTab}},
		"\x1b\r":                         {{kind: keyNewline}},
		"\x1b[13;2u":                     {{kind: keyNewline}},
		"\x1b[A\x1bOB\x1b[1;5C\x1b[1;3D": {{kind: keyUp}, {kind: keyDown}, {kind: keyWordRight}, {kind: keyWordLeft}},
		"\x1b[3~\x1b[H\x1bOF\x1b[1~":     {{kind: keyDelete}, {kind: keyHome}, {kind: keyEnd}, {kind: keyHome}},
		"\x1bb\x1bf\x1bd\x1b\x7f":        {{kind: keyWordLeft}, {kind: keyWordRight}, {kind: keyDeleteWordRight}, {kind: keyDeleteWordLeft}},
		"\x1b[99zx":                      {{}, text("x")},
		"\x1bqx":                         {{}, text("x")},
		"\xffx":                          {{}, text("x")},
		"\u202ex":                        {{}, text("x")},
		pasteBegin + "a\r\nb\rc\x1b[2Jd\x07" + pasteEnd + "\r": {text("a\nb\nc[2Jd"), {kind: keyEnter}},
	} {
		keys, rest := decodeAll([]byte(in))
		if diff := cmp.Diff(want, keys, cmp.AllowUnexported(key{})); diff != "" || len(rest) > 0 {
			t.Errorf("nextKey of %q leaves %q (-want +have):\n%s", in, rest, diff)
		}
	}
}

// What comes in pieces waits until it is whole.
func TestNextKeyWaits(t *testing.T) {
	t.Parallel()
	for _, whole := range []string{"世", "\x1b[1;5C", "\x1bOA", "\x1b\r", pasteBegin + "ab" + pasteEnd, "\x1bé"} {
		for i := 1; i < len(whole); i++ {
			if _, n := nextKey([]byte(whole[:i])); n != 0 {
				t.Errorf("nextKey(%q), the beginning of %q, takes %d bytes", whole[:i], whole, n)
			}
		}
		if _, n := nextKey([]byte(whole)); n != len(whole) {
			t.Errorf("nextKey(%q) takes %d bytes", whole, n)
		}
	}
}

func FuzzNextKey(f *testing.F) {
	for _, seed := range []string{"abc\r", "\x1b[1;5C", "\x1b[200~a\r\nb\x1b[201~", "\x1b\x1b[A", "\x1b[\x1b[A", "é\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		keys, rest := decodeAll(in)
		if len(rest) > maxSequence && !strings.HasPrefix(string(rest), pasteBegin) {
			t.Errorf("%d bytes are held back", len(rest))
		}
		e := &lineEditor{history: []string{"older\ntext"}}
		e.reset()
		s := &terminal.Screen{Width: func() int { return 20 }, Height: func() int { return 6 }}
		for _, k := range keys {
			if !utf8.ValidString(k.text) || strings.ContainsFunc(k.text, terminal.Controls) {
				t.Errorf("the text %q controls terminals", k.text)
			}
			e.press(k)
			if e.pos < 0 || e.pos > len(e.text) {
				t.Fatalf("the cursor is at %d of %q", e.pos, string(e.text))
			}
			b := e.layout(s, "> ")
			if b.Row < 0 || b.Row >= len(b.Rows) || b.Col >= 20 || len(b.Rows) > 5 {
				t.Fatalf("layout %+v of %q", b, string(e.text))
			}
			for i, row := range b.Rows {
				if terminal.Columns(row) != b.Widths[i] || b.Widths[i] >= 20 {
					t.Fatalf("row %q has width %d", row, b.Widths[i])
				}
			}
		}
	})
}
