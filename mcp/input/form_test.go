package input

import (
	"testing"

	"github.com/tenonhq/tenon/sdk"
)

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
