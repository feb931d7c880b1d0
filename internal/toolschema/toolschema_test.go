package toolschema_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/internal/schemacost"
	"github.com/tenonhq/tenon/internal/toolschema"
)

// The validator checks the parts that it understands.
func TestCheck(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ schema, good, bad string }{
		"look-around":       {`{"properties":{"a":{"type":"string","pattern":"(?<=x)y"}}}`, `{"a":"z"}`, `{"a":1}`},
		"names of members":  {`{"patternProperties":{"^(?!x)":{"type":"string"},"^n":{"type":"number"}},"additionalProperties":false}`, `{"m":1,"n":1}`, `{"n":"1"}`},
		"not":               {`{"properties":{"a":{"type":"string","not":{"pattern":"(?=x)"}}}}`, `{"a":"z"}`, `{"a":1}`},
		"if":                {`{"if":{"properties":{"a":{"pattern":"(?=x)"}}},"then":{"required":["b"]},"required":["a"]}`, `{"a":"z"}`, `{}`},
		"one of":            {`{"oneOf":[{"properties":{"a":{"pattern":"^(?!b)"}}},{"properties":{"a":{"const":"b"}}}],"required":["a"]}`, `{"a":"b"}`, `{}`},
		"draft 4, true":     {`{"properties":{"n":{"type":"number","minimum":0,"exclusiveMinimum":true,"maximum":9,"exclusiveMaximum":true}}}`, `{"n":1}`, `{"n":0}`},
		"draft 4, at most":  {`{"properties":{"n":{"maximum":9,"exclusiveMaximum":true}}}`, `{"n":8}`, `{"n":9}`},
		"draft 4, false":    {`{"properties":{"n":{"minimum":0,"exclusiveMinimum":false}}}`, `{"n":0}`, `{"n":-1}`},
		"today's limits":    {`{"properties":{"n":{"exclusiveMinimum":0,"exclusiveMaximum":9}}}`, `{"n":1}`, `{"n":0}`},
		"contains":          {`{"properties":{"a":{"type":"array","contains":{"pattern":"(?=x)"},"maxContains":1}}}`, `{"a":["y","z"]}`, `{"a":1}`},
		"a value":           {`{"properties":{"a":{"enum":[{"required":true,"pattern":"(?=x)"}]}}}`, `{"a":{"required":true,"pattern":"(?=x)"}}`, `{"a":{}}`},
		"draft 3, required": {`{"properties":{"n":{"type":"number","required":true}}}`, `{"n":0}`, `{"n":"a"}`},
		"draft 4 by name":   {`{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"n":{"items":[{"type":"string"}]}}}`, `{"n":["a",1]}`, `{"n":[1]}`},
		"draft 7, no #":     {`{"$schema":"http://json-schema.org/draft-07/schema","properties":{"n":{"items":[{"type":"string"}]}}}`, `{"n":["a",1]}`, `{"n":[1]}`},
		"draft 2019-09":     {`{"$schema":"https://json-schema.org/draft/2019-09/schema","dependentRequired":{"a":["b"]}}`, `{"a":1,"b":2}`, `{"a":1}`},
		"latest draft":      {`{"$schema":"http://json-schema.org/schema#","required":["a"]}`, `{"a":1}`, `{}`},
		"a property called pattern": {
			`{"properties":{"pattern":{"type":"string"},"not":{"type":"number"}},"required":["pattern"]}`, `{"pattern":"(?=x)"}`, `{"not":1}`,
		},
		"null for an optional one":   {`{"properties":{"a":{"type":"boolean"},"b":{"type":"string"}},"required":["b"]}`, `{"a":null,"b":""}`, `{"a":null,"b":null}`},
		"null that may be meant":     {`{"properties":{"a":{"type":["string","null"]}}}`, `{"a":null}`, `{"a":1}`},
		"null for what is not there": {`{"properties":{"a":{}},"additionalProperties":false}`, `{"a":null}`, `{"b":null}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := toolschema.Resolve(json.RawMessage(test.schema))
			if err != nil {
				t.Fatal(err)
			}
			if err := toolschema.Check(r, json.RawMessage(test.good)); err != nil {
				t.Errorf("%s: %v", test.good, err)
			}
			if toolschema.Check(r, json.RawMessage(test.bad)) == nil {
				t.Errorf("%s is accepted", test.bad)
			}
		})
	}
}

// Anthropic's servers refuse every request with a tool that is not of draft 2020-12, OpenAI's with a list of items.
func TestCurrent(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"type":"object","properties":{"n":{"minimum":0,"exclusiveMinimum":true,"maximum":9007199254740993,"exclusiveMaximum":false}}}`: `{"properties":{"n":{"exclusiveMinimum":0,"maximum":9007199254740993}},"type":"object"}`,
		`{"properties":{"a":{"type":"string","required":true,"title":null,"default":null}},"required":null}`:                             `{"properties":{"a":{"default":null,"type":"string"}}}`,
		`{"items":[{"type":"string"},{"type":"number"}],"additionalItems":false}`:                                                        `{"items":{"anyOf":[{"type":"string"},{"type":"number"}]},"prefixItems":[{"type":"string"},{"type":"number"}]}`,
		`{"prefixItems":[{"type":"number"},{"type":"number"}],"items":false}`:                                                            `{"items":{"anyOf":[{"type":"number"},{"type":"number"}]},"prefixItems":[{"type":"number"},{"type":"number"}]}`,
		`{"properties":{"p":{"type":"array","items":[],"maxItems":0}}}`:                                                                  `{"properties":{"p":{"maxItems":0,"type":"array"}}}`,
		// unchanged, with their spaces
		`{"prefixItems": [{}], "items": {"type": "string"}, "exclusiveMinimum": 0, "required": ["a"]}`: "",
		`{"properties": {"items": {"enum": [null]}, "required": {"const": null}}}`:                     "", `[`: "", `true`: "",
	} {
		if got := string(toolschema.Current(json.RawMessage(text))); got != cmp.Or(want, text) {
			t.Errorf("Current(%s) = %s", text, got)
		}
	}
}

func TestCheckTypes(t *testing.T) {
	t.Parallel()
	for text, good := range map[string]bool{
		`{"type":"object","properties":{"type":{"type":["string","null"]},"a":{}},"additionalProperties":false}`: true,
		`{"properties":{"a":{"default":{"type":"str"},"enum":[{"type":"str"}],"x-a":{"type":"str"}}}}`:           true,
		`{"type":"str"}`: false, `{"properties":{"a":{"type":["string","any"]}}}`: false, `{"$defs":{"a":{"items":[{"type":"int"}]}}}`: false,
		`{"anyOf":[{"type":"string"},{"not":{"type":"dict"}}]}`: false, `{"additionalProperties":{"type":"float"}}`: false,
		`{"properties":{"a":{"type":""}}}`: false, `{"patternProperties":{"(?=x)":{"type":"str"}}}`: false, // the validator does not see these
	} {
		if err := toolschema.CheckTypes(json.RawMessage(text)); (err == nil) != good {
			t.Errorf("%s: %v, want an error: %v", text, err, !good)
		}
	}
}

func TestWithoutNulls(t *testing.T) {
	t.Parallel()
	r, err := toolschema.Resolve(json.RawMessage(`{"properties":{"a":{"type":"string"},"b":{"anyOf":[{"type":"null"}]},"c":{"type":"string"},"e":{"enum":["x",null]},"f":{"const":null},"g":{}},"required":["c"]}`))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]string{
		`{"a":null}`:                    `{}`,
		`{"a":null,"b":null,"c":null}`:  `{"b":null,"c":null}`,
		`{"d":null}`:                    `{"d":null}`,
		`{"e":null,"f":null,"g":null}`:  `{"e":null,"f":null,"g":null}`,
		`{"a": "x"}`:                    `{"a": "x"}`, // byte for byte
		`[null]`:                        `[null]`,
		`{"a":null,"c":1e400,"x":1.10}`: `{"c":1e400,"x":1.10}`,
	}
	for args, want := range tests {
		if got, _ := toolschema.WithoutNulls(r, json.RawMessage(args)); string(got) != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
}

func FuzzResolve(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"pattern":"(?=x)"}},"not":{"oneOf":[{"exclusiveMinimum":true,"minimum":1}]}}`, `{"a":null}`)
	f.Add(`{"$ref":"#"}`, `{}`)
	f.Add(`true`, `[]`)
	f.Fuzz(func(t *testing.T, schema, args string) {
		r, err := toolschema.Resolve(json.RawMessage(schema))
		if err != nil {
			return
		}
		_ = toolschema.Check(r, json.RawMessage(args))
		rest, had := toolschema.WithoutNulls(r, json.RawMessage(args))
		if had && (!json.Valid(rest) || !strings.Contains(args, "null")) {
			t.Errorf("%s became %s", args, rest)
		}
	})
}

// An expression that is too large is not checked; a schema that is too large is refused.
func TestLarge(t *testing.T) {
	t.Parallel()
	r, err := toolschema.Resolve(json.RawMessage(`{"properties": {"a": {"pattern": "(?:abcdefghijkl){1000}"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := toolschema.Check(r, json.RawMessage(`{"a": "b"}`)); err != nil {
		t.Error(err)
	}
	if _, err := toolschema.Resolve(json.RawMessage(strings.Repeat(`{"not":`, 5000) + `{}` + strings.Repeat(`}`, 5000))); !errors.Is(err, schemacost.ErrSize) {
		t.Errorf("a deep schema: %v", err)
	}
}
