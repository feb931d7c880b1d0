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

// withoutText returns a copy of a text or reasoning part with an empty text.
func withoutText(p sdk.Part) sdk.Part {
	switch p := p.(type) {
	case *sdk.TextPart:
		c := *p
		c.Text = ""
		return &c
	case *sdk.ReasoningPart:
		c := *p
		c.Text = ""
		return &c
	}
	return p
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
