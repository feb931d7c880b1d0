package frontmatter_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/internal/frontmatter"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, meta, body string }{
		"none":              {"# Title\n\ntext\n", `{}`, "# Title\n\ntext"},
		"empty file":        {"", `{}`, ""},
		"only a rule":       {"---\njust text", `{}`, "---\njust text"},
		"rule and heading":  {"---\n# Title\n\nNote: this\n", `{}`, "---\n# Title\n\nNote: this"},
		"rule and address":  {"---\nhttp://x/ and note: this\n", `{}`, "---\nhttp://x/ and note: this"},
		"four dashes":       {"----\na: b\n---\n", `{}`, "----\na: b\n---"},
		"empty":             {"---\n---\nbody", `{}`, "body"},
		"comment only":      {"---\n# nothing\n---\nbody", `{}`, "body"},
		"scalars":           {"---\na: x\nb: 1\nc: 0.5\nd: true\ne: null\n---\nbody\n", `{"a":"x","b":1,"c":0.5,"d":true,"e":null}`, "body"},
		"order is kept":     {"---\npermission:\n  z: ask\n  a: deny\n  m:\n    '*': allow\n    b: deny\n---\n", `{"permission":{"z":"ask","a":"deny","m":{"*":"allow","b":"deny"}}}`, ""},
		"list":              {"---\na: [x, y]\nb:\n  - z\n---\n", `{"a":["x","y"],"b":["z"]}`, ""},
		"crlf":              {"---\r\na: b\r\n---\r\none\r\ntwo\r\n", `{"a":"b"}`, "one\ntwo"},
		"byte order mark":   {"\xef\xbb\xbf---\na: b\n---\nbody", `{"a":"b"}`, "body"},
		"trailing spaces":   {"---  \na: b\n--- \nbody", `{"a":"b"}`, "body"},
		"no final newline":  {"---\na: b\n---", `{"a":"b"}`, ""},
		"dashes in body":    {"---\na: b\n---\nx\n---\ny", `{"a":"b"}`, "x\n---\ny"},
		"patterns of files": {"---\npaths: **/*.go, cmd/*\nb: {src,lib}/**/*.ts\nc: {x: 1} # two\ntools: *\n---\n", `{"paths":"**/*.go, cmd/*","b":"{src,lib}/**/*.ts","c":{"x":1},"tools":"*"}`, ""},
		"words in brackets": {"---\nargument-hint: [file] [line]\na: [x] | --all\nb: [x, y] # two\n---\n", `{"argument-hint":"[file] [line]","a":"[x] | --all","b":["x","y"]}`, ""},
		"a bar":             {"---\nargument-hint: | --all | --one\nb: |\n  text\n---\n", `{"argument-hint":"| --all | --one","b":"text\n"}`, ""},
		"other marks":       {"---\na: @x\nb: \"x\" or y\nc: `x`\n---\n", "{\"a\":\"@x\",\"b\":\"\\\"x\\\" or y\",\"c\":\"`x`\"}", ""},
		"a tab":             {"---\na: one\ttwo # three\nb: x\t# c\nc: |\n  \tx\ty\nd: [a,\tb]\ne: 'x\ty'\nf:\tg\n---\n", `{"a":"one\ttwo # three","b":"x","c":"\tx\ty\n","d":["a","b"],"e":"x\ty","f":"g"}`, ""},
		"a tab within":      {"---\na:\n  - b\tc\nd: e\n  f\tg\nh:\ti,\tj\n---\n", `{"a":["b c"],"d":"e f g","h":"i, j"}`, ""},
		"block of examples": {"---\na: |\n  <example>\n  y: z\n  </example>\nb: [c] [d]\n---\n", `{"a":"\u003cexample\u003e\ny: z\n\u003c/example\u003e\n","b":"[c] [d]"}`, ""},
		"an exclamation":    {"---\na: !src/**\nb: x\nc: !!str 1\n---\n", `{"a":"!src/**","b":"x","c":"1"}`, ""},
		"examples":          {"---\nname: x\ndescription: Use it. Examples:\n\n<example>\nContext: A\nuser: \"b\"\n</example>\n\n<example>\nuser: 'c'\n</example>\n\nmodel: y\n---\n", `{"name":"x","description":"Use it. Examples: \u003cexample\u003e Context: A user: \"b\" \u003c/example\u003e \u003cexample\u003e user: 'c' \u003c/example\u003e","model":"y"}`, ""},
		"beside others":     {"---\nargument-hint: [file] [line]\ndescription: \"He said \\\"hi\\\" there\"\ntools: [\"x]y\", b]\nlist: [a, b]\t# c\n---\n", `{"argument-hint":"[file] [line]","description":"He said \"hi\" there","tools":["x]y","b"],"list":["a","b"]}`, ""},
		"colon in value":    {"---\nname: x\ndescription: Use it when: it's needed\n---\n", `{"name":"x","description":"Use it when: it's needed"}`, ""},
		"block text":        {"---\na: |\n  one\n  two: 2\n---\n", `{"a":"one\ntwo: 2\n"}`, ""},
		"number as key":     {"---\n1: x\n---\n", `{"1":"x"}`, ""},
		"a long list":       {"---\na:\n" + strings.Repeat("  - x\n", 40) + "---\n", `{"a":["x"` + strings.Repeat(`,"x"`, 39) + `]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := frontmatter.Parse([]byte(c.in))
			if err != nil {
				t.Fatalf("Parse(%q): %v", c.in, err)
			}
			want := &frontmatter.Document{Meta: json.RawMessage(c.meta), Body: c.body}
			if diff := cmp.Diff(want, doc); diff != "" {
				t.Errorf("Parse(%q) (-want +got):\n%s", c.in, diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"bad YAML":                        {"---\na: [x\n---\n", ""},
		"a list":                          {"---\n- a\n---\n", "want keys and values"},
		"text":                            {"---\nhello\n---\n", "want keys and values"},
		"alias":                           {"---\na: &x [1]\nb: *x\n---\n", "line 2: anchors"},
		"documents":                       {"---\na: 1\n--- b\n---\n", "line 3: anchors"},
		"indented by a tab":               {"---\na:\n  b: c\n\td: e\n---\n", "cannot start any token"},
		"a tag":                           {"---\na:\n  - !b/**\n  - c\n---\n", "or begins with !"},
		"too long":                        {"---\na: " + strings.Repeat("x", 70<<10) + "\n---\n", "at most 65536"},
		"too deep":                        {"---\na: " + strings.Repeat("[", 5000) + "\n---\n", "nested too deep"},
		"empty lines":                     {"---\na: >\n" + strings.Repeat(" \n\n", 500) + "b: c\n---\n", "1002 lines"},
		"many tokens":                     {"---\na: {" + strings.Repeat("a,", 5000) + "}\n---\n", "words and symbols"},
		"lists in one line":               {"---\na:\n  " + strings.Repeat("- ", 5000) + "x\n---\n", "nested too deep"},
		"unclosed":                        {"---\nname: x\ndescription: y\n\nThe text.\n", "not closed"},
		"unclosed with a byte order mark": {"\xef\xbb\xbf---  \r\nname:\r\n  x\r\n", "not closed"},
		"not a num":                       {"---\na: .nan\n---\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := frontmatter.Parse([]byte(c.in))
			if !errors.Is(err, frontmatter.ErrFrontMatter) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Parse(%.40q) = %v, %v, want an ErrFrontMatter with %q", c.in, doc, err, c.want)
			}
		})
	}
}

func TestDecodeNamesTheKey(t *testing.T) {
	t.Parallel()
	doc, err := frontmatter.Parse([]byte("---\ntemperature: warm\n---\n"))
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Temperature *float64 `json:"temperature"`
	}
	err = doc.Decode(&v)
	if !errors.Is(err, frontmatter.ErrFrontMatter) || !strings.Contains(err.Error(), ": temperature: want a number, have string") {
		t.Errorf("Decode = %v, want an error that names the key", err)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	doc, err := frontmatter.Parse([]byte("---\nz: 1\nname: x\na: 2\n---\n"))
	if err != nil {
		t.Fatal(err)
	}
	unknown, known := doc.Keys(&struct {
		Name string `json:"name,omitempty"`
	}{})
	if diff := cmp.Diff([][]string{{"a", "z"}, {"name"}}, [][]string{unknown, known}); diff != "" {
		t.Errorf("Keys (-want +got):\n%s", diff)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "---\n---\n", "---\na: b\n---\nbody", "---\na: &x 1\nb: *x\n---\n", "---\na: b: c\n---\n",
		"---\n? [a, b]\n: c\n---\n", "---\na: !!binary aGk=\nb: 2001-01-01\n---\n", "---\r\n- x\r\n---\r\n", "---\na: {b: [c, {d: e}]}\n---\n",
		"---\n<<: {a: b}\n---\n", "---\n\"\\ud800\": x\n---\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := frontmatter.Parse(data)
		if err != nil {
			if !errors.Is(err, frontmatter.ErrFrontMatter) {
				t.Fatalf("Parse: %v does not wrap ErrFrontMatter", err)
			}
			return
		}
		var object map[string]any
		if err := json.Unmarshal(doc.Meta, &object); err != nil || object == nil {
			t.Fatalf("Meta %q is not an object: %v", doc.Meta, err)
		}
		// Without front matter, no part of the text may be lost.
		if !strings.HasPrefix(strings.TrimPrefix(string(data), "\xef\xbb\xbf"), "---") && doc.Body != strings.TrimSpace(strings.ReplaceAll(strings.TrimPrefix(string(data), "\xef\xbb\xbf"), "\r\n", "\n")) {
			t.Fatalf("body %q of %q", doc.Body, data)
		}
	})
}
