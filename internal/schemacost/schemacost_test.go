package schemacost_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/internal/schemacost"
)

func TestResolve(t *testing.T) {
	t.Parallel()
	var doubling strings.Builder
	doubling.WriteString(`{"$ref": "#/$defs/a0", "$defs": {`)
	for i := range 40 {
		fmt.Fprintf(&doubling, `"a%d": {"allOf": [{"$ref": "#/$defs/a%d"}, {"$ref": "#/$defs/a%d"}]},`, i, i+1, i+1)
	}
	doubling.WriteString(`"a40": {}}}`)
	for name, c := range map[string]struct {
		schema string
		want   error
	}{
		"empty":               {`{}`, nil},
		"a tree":              {`{"type": "object", "properties": {"next": {"$ref": "#"}, "all": {"type": "array", "items": {"$ref": "#"}}}}`, nil},
		"definitions":         {`{"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}}`, nil},
		"older definitions":   {`{"properties": {"x": {"$ref": "#/definitions/a"}}, "definitions": {"a": {"type": "string"}}}`, nil},
		"a property named so": {`{"properties": {"$ref": {"type": "string"}, "not": {"type": "string"}}}`, nil},
		"itself":              {`{"type": "object", "$ref": "#"}`, schemacost.ErrCost},
		"itself by allOf":     {`{"allOf": [{"$ref": "#"}]}`, schemacost.ErrCost},
		"itself by not":       {`{"not": {"$ref": "#"}}`, schemacost.ErrCost},
		"a ring":              {`{"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"anyOf": [{"$ref": "#/$defs/a"}]}}}`, schemacost.ErrCost},
		"a ring by escapes":   {`{"$ref": "#/%24defs/a~1b", "$defs": {"a/b": {"$ref": "#/$defs/a~1b"}}}`, schemacost.ErrCost},
		"another case":        {`{"AllOf": [{"$REF": "#"}]}`, schemacost.ErrCost},
		"a ring in a corner":  {`{"properties": {"x": {"items": {"if": {"$ref": "#/properties/x/items"}}}}}`, schemacost.ErrCost},
		"doubling":            {doubling.String(), schemacost.ErrCost},
		"a chain":             {chain(500), nil},
		"a long chain":        {chain(1000), schemacost.ErrCost},
		"many values":         {`{"enum": [` + strings.Repeat(`"a", `, 5000) + `"a"]}`, nil},
		"too many values":     {`{"items": {"enum": [` + strings.Repeat(`"a", `, 25000) + `"a"]}}`, schemacost.ErrCost},
		"large":               {`{"title": "` + strings.Repeat("a", 600_000) + `"}`, schemacost.ErrSize},
		"deep":                {strings.Repeat(`{"not": `, 130) + `{}` + strings.Repeat(`}`, 130), schemacost.ErrSize},
		"elsewhere":           {`{"$ref": "https://example.com/x"}`, schemacost.ErrReference},
		"dynamic":             {`{"$dynamicRef": "#x"}`, schemacost.ErrReference},
		"an inner id":         {`{"$defs": {"a": {"$id": "https://example.com/x"}}}`, schemacost.ErrReference},
	} {
		if _, err := schemacost.Resolve([]byte(c.schema)); !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// chain returns a schema of references that lead to each other, and to themselves for the items of a value.
func chain(length int) string {
	var out strings.Builder
	out.WriteString(`{"$ref": "#/$defs/a0", "$defs": {`)
	for i := range length {
		fmt.Fprintf(&out, `"a%d": {"$ref": "#/$defs/a%d"},`, i, i+1)
	}
	return out.String() + fmt.Sprintf(`"a%d": {"items": {"$ref": "#/$defs/a0"}}}}`, length)
}

// A value that would take the validator forever, or too much of its stack, is refused; all others are judged.
func TestValidate(t *testing.T) {
	t.Parallel()
	branches := `{"anyOf": [` + strings.Repeat(`{"type": "string", "maxLength": 1}, `, 500) + `{"maxLength": 1}]}`
	nested := func(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }
	node := func(depth int) string {
		return strings.Repeat(`{"left": {}, "right": `, depth) + `{}` + strings.Repeat(`}`, depth)
	}
	for name, c := range map[string]struct {
		schema, value string
		refused       bool
	}{
		"doubling at every level":      {`{"anyOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}]}`, nested(60), true},
		"a tree":                       {`{"properties": {"left": {"$ref": "#"}}, "additionalProperties": {"$ref": "#"}}`, node(60), false},
		"lists in lists":               {`{"items": {"$ref": "#"}}`, nested(60), false},
		"pairs":                        {`{"prefixItems": [{"type": "string"}, {"$ref": "#"}]}`, strings.Repeat(`["a", `, 60) + "1" + strings.Repeat("]", 60), false},
		"references at every level":    {chain(500), nested(100), true},
		"a long list":                  {`{"items": {"type": "integer"}}`, `[` + strings.Repeat("1,", 1<<18) + `1]`, false},
		"a long text":                  {`{"properties": {"text": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}`, `{"text": "` + strings.Repeat("a", 8<<20) + `"}`, false},
		"a long text in many branches": {branches, `"` + strings.Repeat("a", 8<<20) + `"`, true},
		"long names":                   {`{"propertyNames": ` + branches + `}`, `{"` + strings.Repeat("a", 8<<20) + `": 1}`, true},
		"long errors":                  {`{"anyOf": [` + strings.Repeat(`{"type": "number"},`, 40) + `{"type": "null"}]}`, `"` + strings.Repeat("a", 2<<20) + `"`, true},
		"a pattern":                    {`{"pattern": "^a*$"}`, `"` + strings.Repeat("a", 1<<20) + `"`, false},
		"a pattern in a long text":     {`{"pattern": "^(?:a?){400}b?$"}`, `"` + strings.Repeat("a", 16<<20) + `"`, true},
		"many required names":          {`{"items": {"anyOf": [{"required": [` + strings.Repeat(`"a",`, 10_000) + `"b"]}, {}]}}`, `[` + strings.Repeat("{},", 10_000) + `{}]`, true},
		"many conditions":              {`{"if": {"not": {"enum": [1]}}, "then": {"unevaluatedItems": {}}, "else": false}`, `[1, {"a": 1}]`, false},
	} {
		schema, err := schemacost.Resolve([]byte(c.schema))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var value any
		if err := json.Unmarshal([]byte(c.value), &value); err != nil {
			t.Fatalf("%s: %v", name, err)
		}

		if err := schema.Validate(value); errors.Is(err, schemacost.ErrCost) != c.refused || !c.refused && err != nil {
			t.Errorf("%s: %.200v, want refused: %t", name, err, c.refused)
		}
	}
}

// FuzzResolve: validating with an accepted schema ends.
func FuzzResolve(f *testing.F) {
	for _, seed := range []string{`{}`, `{"$ref": "#"}`, `{"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"not": {}}}}`, `[]`, `true`} {
		f.Add([]byte(seed), []byte(`{"a": [1]}`))
	}
	f.Fuzz(func(t *testing.T, text, value []byte) {
		if len(text) > 1<<12 {
			return
		}
		resolved, err := schemacost.Resolve(text)
		if err != nil {
			return
		}
		var v any
		if json.Unmarshal(value, &v) == nil {
			_ = resolved.Validate(v) // only that it returns counts
		}
	})
}
