package input

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/sdk"
)

// Errors of answers are for users, who do not know the schema.
func TestObjections(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ schema, answer, want string }{
		{`{"type":"integer","minimum":3,"maximum":9}`, "1", `"1" is not an integer from 3 up to 9`},
		{`{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":0.5}`, "1e9", `"1e9" is not a number above 0 below 0.5`},
		{`{"type":"integer"}`, "1.5", `"1.5" is not an integer`},
		{`{"type":"number","multipleOf":0.01}`, "0.07", ""},
		{`{"type":"string","minLength":3}`, "ab", "want at least 3 characters"},
		{`{"type":"string","maxLength":1}`, "ab", "want at most 1 characters"},
		{`{"type":"array","items":{"enum":["x","y"]},"minItems":2}`, "x", "choose at least 2"},
		{`{"type":"array","items":{"enum":["x","y"]},"maxItems":0}`, "x", "choose at most 0"},
		{`{"type":"string","pattern":"^a$"}`, "b", `pattern: "b" does not match regular expression "^a$"`},
		{`{"type":"string","anyOf":[{"format":"email"},{"format":"uri"}]}`, "a", ""},
		{`{"anyOf":[{"type":"integer","minimum":3},{"type":"null"}],"default":null}`, "1", `"1" is not an integer from 3`},
		{`{"anyOf":[{"type":"null"},{"type":"string","enum":["x","y"]}],"title":"Optional"}`, "z", `"z" is not one of the choices`},
		{`{"anyOf":[{"type":"string"},{"type":"null"}],"default":null}`, "", ""},
	} {
		form, err := readForm([]byte(`{"properties":{"f":` + c.schema + `}}`))
		if err != nil {
			t.Fatal(err)
		}
		form[0].answer = []string{c.answer}
		problem := ""
		if _, err = form[0].read(); err != nil {
			problem = err.Error()
		}
		if problem != c.want {
			t.Errorf("%s: %s: %q, want %q", c.schema, c.answer, problem, c.want)
		}
	}
}

// Each default is compared with each choice, which takes too long for the numbers that fit into a message.
func TestManyChoices(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{
		`{"type":"array","items":{"enum":["a"` + strings.Repeat(`,"a"`, maxChoices) + `]}}`,
		`{"type":"array","items":{"enum":["a"]},"default":["a"` + strings.Repeat(`,"a"`, maxChoices) + `]}`,
	} {
		if _, err := readForm([]byte(`{"properties":{"f":` + schema + `}}`)); err == nil || !strings.Contains(err.Error(), "at most 1000 choices") {
			t.Errorf("%.60s: %v", schema, err)
		}
	}
}

// FuzzForm: the server gets only values of its fields, which its schemas allow, and cannot ask forever.
func FuzzForm(f *testing.F) {
	f.Add([]byte(orderExample))
	f.Add([]byte(`{"properties":{"a":{"type":"integer","minimum":1,"default":7},"b":{"type":"array","items":{"enum":["x","y"]},"minItems":2},"c":{"type":"string","format":"uri"}},"required":["b","z"]}`))
	f.Add([]byte(`{"properties":{"a":{"type":"string","oneOf":[{"const":"x","title":"X"},{"const":null}],"default":"z"},"a":{"type":"boolean"},"b":{"type":"string","enum":[1,{}],"enumNames":["","2"]}}}`))
	f.Add([]byte(`{"properties":{"a":{"type":"number","exclusiveMaximum":1,"multipleOf":0.1},"b":{"type":"string","pattern":"^x","maxLength":0},"c":{"type":"array","items":{"anyOf":[{"const":1}]},"default":[1,2]}}}`))
	f.Fuzz(func(t *testing.T, schema []byte) {
		form, err := readForm(schema)
		if err != nil {
			return
		}
		asked := 0
		content, err := form.fill(func(q []sdk.Question) ([][]string, error) {
			asked++
			answers := make([][]string, len(q))
			for i := range q {
				if len(q[i].Options) > 0 {
					answers[i] = []string{q[i].Options[0].Label}
				} else if asked%3 != 0 { // otherwise the default
					answers[i] = []string{"1"}
				}
			}
			return answers, nil
		}, "m", nil)
		if err != nil || asked > formTries {
			t.Fatalf("%d questions, %v", asked, err)
		}
		if _, err := json.Marshal(content); err != nil {
			t.Fatal(err)
		}
		last := map[string]*field{} // the user is asked twice for a name that the form has twice
		for _, one := range form {
			last[one.name] = one
		}
		others := maps.Clone(content)
		for _, one := range last {
			value, ok := content[one.name]
			if content != nil && one.required && !ok {
				t.Errorf("%q lacks %q", content, one.name)
			}
			delete(others, one.name)
			if ok && !reflect.DeepEqual(value, one.Default) && one.schema.Validate(value) != nil && one.Type != "array" {
				t.Errorf("%q = %v is invalid", one.name, value)
			}
		}
		if len(others) > 0 {
			t.Errorf("values without a field: %v", others)
		}
	})
}

const orderExample = `{"type":"object","properties":{"a":{"type":"string","enum":["x"]},"b":{"type":"array","items":{"enum":["y"]}},"c":{"type":"number"}}}`
