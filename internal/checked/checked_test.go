package checked_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/sdk"
)

var errKind = errors.New("bad sample")

type embedded struct {
	ID string `json:"id"`
}

type sample struct {
	embedded
	Name   string              `json:"name"`
	Count  int                 `json:"count"`
	Share  *float64            `json:"share"`
	On     bool                `json:"on"`
	List   []string            `json:"list"`
	Table  map[string]sample   `json:"table"`
	Raw    json.RawMessage     `json:"raw"`
	Rules  sdk.PermissionRules `json:"rules"`
	Open   open                `json:"open"`
	Hidden string              `json:"-"`
}

type open struct {
	Known int       `json:"known"`
	Extra sdk.Extra `json:"-"`
}

func decode(text string, comments, nulls bool) (s sample, report checked.Report) {
	src := checked.Source{Name: "f", Comments: comments}
	c := checked.Checker{Source: &src, Report: &report, Rules: checked.NoRules{}, Nulls: nulls}
	if n := src.Parse([]byte(text), &report); n != nil {
		c.Decode(n.Place(""), n, &s)
	}
	return s, report
}

func TestProblems(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"good":             {`{"id": "i", "name": "n", "count": 1, "share": 1.5, "on": true, "list": ["a"], "table": {"x": {"count": -1}}, "raw": {"a": [null]}, "rules": "ask"}`, ""},
		"unknown":          {`{"nam": 1}`, `f:1:2: nam: unknown key; did you mean "name"?`},
		"case":             {`{"Name": ""}`, `f:1:2: Name: unknown key; did you mean "name"?`},
		"not in JSON":      {`{"Hidden": ""}`, `f:1:2: Hidden: unknown key; known here: count, id, list, name, on, open, raw, rules, share, table`},
		"below a name":     {`{"table": {"a.b": {"on": 0}}}`, `f:1:20: table."a.b".on: want true or false, have 0`},
		"hidden character": {"{\"table\": {\"a\u202e\": 1}}", `f:1:12: table."a\u202e": want an object, have 1`},
		"element":          {"{\"list\": [\"é\",\n true]}", `f:2:2: list[1]: want a string, have true`},
		"fraction":         {`{"count": 1.5}`, `f:1:2: count: want a whole number, have 1.5`},
		"range":            {`{"share": 1e999}`, `f:1:2: share: number out of range: 1e999`},
		"null":             {`{"name": null}`, `f:1:2: name: want a string, have null`},
		"own decoder":      {`{"rules": "maybe"}`, `f:1:2: rules: invalid data: want allow, ask or deny, have "maybe"`},
		"duplicate":        {"{\"on\": true,\n\"on\": true}", `f:2:1: on: duplicate key, first on line 1; remove one`},
		"duplicate in raw": {`{"raw": [{"a": 1, "a": 1}]}`, `f:1:19: raw[0].a: duplicate key, first on line 1; remove one`},
		"comment":          {"{ // no\n}", `f:1:3: not valid JSON: invalid character '/' looking for beginning of object key string`},
		"last comma":       {`{"on": true,}`, `f:1:13: not valid JSON: invalid character '}' looking for beginning of object key string`},
		"cut off":          {`{"on": `, `f:1:6: not valid JSON: it ends in the middle`},
		"nothing":          {"", `f:1:1: not valid JSON: it ends in the middle`},
		"byte order mark":  {"\ufeff{}", `f:1:1: begins with a byte order mark; save the file as UTF-8 without one`},
		"not UTF-8":        {"{\"name\": \"\ufffd\xff\"}", `f:1:12: not UTF-8; save the file as UTF-8`},
		"depth":            {strings.Repeat("[", 70) + strings.Repeat("]", 70), `f:1:66: nested deeper than 64 levels`},
		"long key":         {`{"table": {"` + strings.Repeat("k", 400) + `": 1}}`, `f:1:12: table.` + strings.Repeat("k", 294) + `…: want an object, have 1`},
		"two":              {`{"a1": 1, "b2": 2}`, "f:1:2: a1: unknown key; known here: count, id, list, name, on, open, raw, rules, share, table\nf:1:11: b2: unknown key; known here: count, id, list, name, on, open, raw, rules, share, table"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, report := decode(c.text, false, false)
			got := ""
			if err := report.Err(errKind); err != nil {
				got = err.Error()
				if !errors.Is(err, errKind) {
					t.Errorf("%v does not wrap its kind", err)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	s, report := decode(`{"id": "i", "count": null, "list": ["a"], "raw": {"b": 1}, "open": {"known": 1, "knwon": 2, "other": 3}}`, false, true)
	if report.Err(errKind) != nil || s.ID != "i" || s.List[0] != "a" || string(s.Raw) != `{"b": 1}` || s.Open.Known != 1 {
		t.Errorf("Decode = %+v, %v", s, report)
	}
	if len(report.Warnings) != 1 || report.Warnings[0].String() != `f:1:81: open.knwon: unknown key, passed on unchanged; did you mean "known"?` {
		t.Errorf("warnings %v", report.Warnings)
	}
}

func TestComments(t *testing.T) {
	t.Parallel()
	for text, members := range map[string]int{"": 0, " \n": 0, "// none": 0, "\ufeff{ /* c */ \"on\": true, } // end": 1} {
		var report checked.Report
		src := checked.Source{Name: "f", Comments: true}
		n := src.Parse([]byte(text), &report)
		if n == nil || n.Kind != checked.Object || len(n.Members) != members {
			t.Errorf("Parse(%q) = %+v, %v; want an object with %d members", text, n, report.Err(errKind), members)
		}
	}
}

// TestLocate finds the nearest value around a key.
func TestLocate(t *testing.T) {
	t.Parallel()
	src := checked.Source{Name: "f"}
	src.Parse([]byte("{\"a\": {\n\"b\": [1,\n{\"c\": 1}]}}"), &checked.Report{})
	for key, want := range map[string]string{
		"": "f:1:1: m", "a": "f:1:2: a: m", "a.b": "f:2:1: a.b: m", "a.b[0]": "f:2:7: a.b[0]: m", "a.b[1].c": "f:3:2: a.b[1].c: m",
		"a.b[1].x.y": "f:3:1: a.b[1].x.y: m", "a.bc": "f:1:7: a.bc: m", "z": "f:1:1: z: m",
	} {
		if got := src.Locate(key, "m", "").String(); got != want {
			t.Errorf("Locate(%q) = %q, want %q", key, got, want)
		}
	}
}

func TestBound(t *testing.T) {
	t.Parallel()
	_, report := decode(`{"table": {`+strings.TrimSuffix(strings.Repeat(`"": 1,`, 80), ",")+`}}`, false, false)
	if err := report.Err(errKind); !strings.HasSuffix(err.Error(), "\nand 30 more") {
		t.Errorf("error %v, want 50 problems and the number of the others", err)
	}
}

// FuzzDecode reads any text. Problems have places that exist; what has none can be decoded.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{"", "{}", "{", "[]", `"\ud800"`, "// x", "\ufeff{}", `{"name": "a", "name": 1,}`, `{"raw": [[1e400]], "x": {}}`, "{\"list\":\n[\"\xff\"]}", `"\00襤`} {
		f.Add(seed, false)
		f.Add(seed, true)
	}
	f.Fuzz(func(t *testing.T, text string, comments bool) {
		_, report := decode(text, comments, false)
		lines := strings.Split(strings.TrimPrefix(text, "\ufeff")+"\n", "\n")
		for _, p := range append(report.Problems, report.Warnings...) {
			if p.Message == "" || !utf8.ValidString(p.String()) {
				t.Errorf("problem %q", p.String())
			}
			if p.Line < 0 || p.Line > len(lines) || p.Line > 0 && (p.Column < 1 || p.Column > utf8.RuneCountInString(lines[p.Line-1])+1) {
				t.Errorf("%s: no such place in %q", p, text)
			}
		}
		if !comments && len(report.Problems) == 0 && !json.Valid([]byte(text)) {
			t.Errorf("%q is accepted", text)
		}
	})
}
