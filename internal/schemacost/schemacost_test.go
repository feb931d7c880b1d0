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
		"many values":         {`{"enum": [` + strings.Repeat(`"a", `, 5000) + `"a"]}`, nil},
		"too many values":     {`{"items": {"enum": [` + strings.Repeat(`"a", `, 25000) + `"a"]}}`, schemacost.ErrCost},
		"elsewhere":           {`{"$ref": "https://example.com/x"}`, schemacost.ErrReference},
		"dynamic":             {`{"$dynamicRef": "#x"}`, schemacost.ErrReference},
		"an inner id":         {`{"$defs": {"a": {"$id": "https://example.com/x"}}}`, schemacost.ErrReference},
	} {
		if _, err := schemacost.Resolve([]byte(c.schema)); !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: %v, want %v", name, err, c.want)
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
