package input

import (
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

func FuzzForm(f *testing.F) {
	f.Add([]byte(orderExample))
	f.Fuzz(func(t *testing.T, schema []byte) {
		form, err := readForm(schema)
		if err != nil {
			return
		}
		_, _ = form.fill(func(q []sdk.Question) ([][]string, error) {
			answers := make([][]string, len(q))
			for i := range q {
				if len(q[i].Options) > 0 {
					answers[i] = []string{q[i].Options[0].Label}
				} else {
					answers[i] = []string{"1"}
				}
			}
			return answers, nil
		}, "m", nil)
	})
}

const orderExample = `{"type":"object","properties":{"a":{"type":"string","enum":["x"]},"b":{"type":"array","items":{"enum":["y"]}},"c":{"type":"number"}}}`
