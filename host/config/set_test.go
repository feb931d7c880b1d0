package config_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/host/config"
)

func TestSet(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, key, value, want string }{
		"no file":         {"", "model", `"a/b"`, "{\n  \"model\": \"a/b\"\n}\n"},
		"comments alone":  {"// why\n\n", "a", "1", "// why\n{\n  \"a\": 1\n}\n"},
		"carriage return": {"// why\r\n\r\n", "a", "1", "// why\n{\n  \"a\": 1\n}\n"},
		"mark":            {"\ufeff{\r\n  \"a\": 1\r\n}", "a", "2", "{\r\n  \"a\": 2\r\n}"},
		"replaced":        {"{\n  // why\n  \"model\": \"x/y\", // and how\n  \"retry\": {}\n}\n", "model", `"a/b"`, "{\n  // why\n  \"model\": \"a/b\", // and how\n  \"retry\": {}\n}\n"},
		"replaced list":   {"{\n  \"a\": {\n    \"b\": [\n      1\n    ]\n  }\n}\n", "a.b", "[2]", "{\n  \"a\": {\n    \"b\": [\n      2\n    ]\n  }\n}\n"},
		"added":           {"{\n\t\"model\": \"x/y\" // note\n\t// end\n}\n", "retry.max", "3", "{\n\t\"model\": \"x/y\", // note\n\t\"retry\": {\n    \"max\": 3\n  }\n\t// end\n}\n"},
		"last comma":      {"{\n  \"a\": 1,\n}", "b", "[1]", "{\n  \"a\": 1,\n  \"b\": [\n    1\n  ]\n}"},
		"one line":        {`{"a": 1}`, "b.c", "true", `{"a": 1, "b": {"c":true}}`},
		"deeper":          {"{\n  \"a\": {\n    \"b\": 1\n  }\n}\n", "a.c", "2", "{\n  \"a\": {\n    \"b\": 1,\n    \"c\": 2\n  }\n}\n"},
		"empty object":    {"{\n  \"a\": {}\n}\n", "a.c", "2", "{\n  \"a\": {\n    \"c\": 2\n  }\n}\n"},
		"emptied object":  {"{\n  \"a\": {\n  }\n}\n", "a.c", "2", "{\n  \"a\": {\n    \"c\": 2\n  }\n}\n"},
		"quoted name":     {"{}", `models."a.b/~c".x`, "1", "{\n  \"models\": {\n    \"a.b/~c\": {\n      \"x\": 1\n    }\n  }\n}"},
		"object in list":  {"{\"a\": [1]}", "a.b", "1", "error"},
		"no object":       {"{\"a\": 1}", "a.b", "1", "error"},
		"list":            {"[]", "a", "1", "error"},
		"no JSON":         {"{", "a", "1", "error"},
		"no value":        {"{}", "a", "x", "error"},
		"no key":          {"{}", "", "1", "error"},
		"empty name":      {"{}", "a..b", "1", "error"},
		"open quotation":  {"{}", `a."b`, "1", "error"},
		"after a quote":   {"{}", `"a"b`, "1", "error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := []byte(c.text)
			out, err := config.Set(text, c.key, json.RawMessage(c.value))
			if string(text) != c.text {
				t.Errorf("Set changed its argument to %q", text)
			}
			got := string(out)
			if err != nil {
				got = "error"
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("Set(%q, %q) (-want +got), error %v:\n%s", c.text, c.key, err, diff)
			}
		})
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, key, want string }{
		"first":     {"{\n  \"a\": 1,\n  \"b\": [1, 2]\n}\n", "a", "{\n  \"b\": [1, 2]\n}\n"},
		"middle":    {"{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}\n", "b", "{\n  \"a\": 1,\n  \"c\": 3\n}\n"},
		"last":      {"{\n  \"a\": [1, 2],\n  \"b\": 2\n}\n", "b", "{\n  \"a\": [1, 2]\n}\n"},
		"only":      {"{\n  \"a\": {\n    \"b\": 1\n  }\n}\n", "a.b", "{\n  \"a\": {\n  }\n}\n"},
		"one line":  {`{"a": {"b": 1, "c": 2}}`, "a.c", `{"a": {"b": 1}}`},
		"twice":     {`{"a": 1, "b": 2, "a": 3}`, "a", `{ "b": 2}`},
		"not there": {`{"a": 1}`, "b.c", `{"a": 1}`},
		"in a list": {`{"a": [1, {"b": 2}]}`, "a.1.b", `{"a": [1, {}]}`},
		"no object": {`{"a": 1}`, "a.b", `{"a": 1}`},
		"no JSON":   {"{", "a", "error"},
		"no key":    {"{}", "", "error"},
	} {
		out, err := config.Remove([]byte(c.text), c.key)
		got := string(out)
		if err != nil {
			got = "error"
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: Remove(%q, %q) (-want +got), error %v:\n%s", name, c.text, c.key, err, diff)
		}
	}
}

// FuzzSet checks that a changed file can be changed again, to the same text.
func FuzzSet(f *testing.F) {
	f.Add("{\n  // c\n  \"a\": 1, // d\n}\n", "b.c", `{"x": [1]}`)
	f.Add(`{"a": {}}`, `a."b.c"`, "null")
	f.Fuzz(func(t *testing.T, text, key, value string) {
		once, err := config.Set([]byte(text), key, json.RawMessage(value))
		if err != nil {
			return
		}
		again, err := config.Set(once, key, json.RawMessage(value))
		if err != nil {
			t.Fatalf("Set(%q, %q, %q) = %q, and again: %v", text, key, value, once, err)
		}
		third, err := config.Set(again, key, json.RawMessage(value))
		if err != nil || string(third) != string(again) {
			t.Errorf("Set(%q, %q, %q) = %q, then %q, %v", text, key, value, again, third, err)
		}
	})
}
