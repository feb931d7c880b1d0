package sqlite

import "github.com/tenonhq/tenon/sdk"

// Fields of parts that grow while they stream.
const (
	fieldText = "text"
	fieldRaw  = "raw"
)

// openField returns the field of the part to which text can be appended, or "".
func openField(p sdk.Part) string {
	switch p := p.(type) {
	case *sdk.TextPart, *sdk.ReasoningPart:
		return fieldText
	case *sdk.ToolPart:
		if p.State.Status == sdk.ToolPending {
			return fieldRaw
		}
	}
	return ""
}

// extend adds the text that was appended to a part since it was put.
func extend(p sdk.Part, text string) {
	switch p := p.(type) {
	case *sdk.TextPart:
		p.Text += text
	case *sdk.ReasoningPart:
		p.Text += text
	case *sdk.ToolPart:
		p.State.Raw += text
	}
}
