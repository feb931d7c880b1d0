package view

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
)

// TestPrintedJSON checks that printed JSON controls no terminal, hides nothing, and means what was encoded.
func TestPrintedJSON(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"plain":         {"a <b> & ü 漢 🙂", `"a <b> & ü 漢 🙂"`},
		"C1":            {"a\u009b31mred", `"a\u009b31mred"`},
		"delete":        {"a\x7f", `"a\u007f"`},
		"bidi":          {"a\u202egpj\u2066\u200f", `"a\u202egpj\u2066\u200f"`},
		"tags":          {"ok\U000e0041", `"ok\udb40\udc41"`},
		"no width":      {"pay\u200bpal", `"pay\u200bpal"`},
		"families":      {"👨\u200d👩 \u200c", "\"👨\u200d👩 \u200c\""},
		"long":          {strings.Repeat("a\u0085é", 40000), `"` + strings.Repeat(`a\u0085é`, 40000) + `"`},
		"escape as C0":  {"\x1b", `"\u001b"`},
		"escaped twice": {`\u202e`, `"\\u202e"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			if err := NewEncoder(&out).Encode(c.in); err != nil {
				t.Fatal(err)
			}
			if got := strings.TrimSuffix(out.String(), "\n"); got != c.want {
				t.Errorf("%.200s, want %.200s", got, c.want)
			}
			var back string
			if err := json.Unmarshal(out.Bytes(), &back); err != nil || back != c.in {
				t.Errorf("read back: %.200q (%v)", back, err)
			}
		})
	}
}

func FuzzPrintedJSON(f *testing.F) {
	f.Add("a\u009b\u202e", "k\u200b")
	f.Fuzz(func(t *testing.T, text, key string) {
		want := map[string]any{strings.ToValidUTF8(key, "?"): []any{strings.ToValidUTF8(text, "?"), 1.5, nil}}
		var out bytes.Buffer
		enc := NewEncoder(&out)
		enc.SetIndent("", "\t")
		if err := enc.Encode(want); err != nil {
			t.Fatal(err)
		}
		for _, r := range out.String() {
			if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) && !strings.ContainsRune("\n\t\u200c\u200d", r) {
				t.Fatalf("%q is printed", r)
			}
		}
		var plain bytes.Buffer
		if err := json.NewEncoder(&plain).Encode(want); err != nil {
			t.Fatal(err)
		}
		var a, b any
		if json.Unmarshal(out.Bytes(), &a) != nil || json.Unmarshal(plain.Bytes(), &b) != nil {
			t.Fatalf("%q is not JSON", out.String())
		}
		x, _ := json.Marshal(a)
		y, _ := json.Marshal(b)
		if !bytes.Equal(x, y) {
			t.Fatalf("%q, want %q", x, y)
		}
	})
}
