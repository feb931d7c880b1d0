package sqlite

import (
	"encoding/json"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

// Fields of parts that grow while they stream.
const (
	fieldText = "text"
	fieldRaw  = "raw"
)

// openField returns the field of the part to which text can be appended; empty if there is none.
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

// withoutText returns a copy of a part without its text or arguments.
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
	case *sdk.ToolPart:
		c := *p
		c.State.Input = nil
		return &c
	}
	return p
}

// extend adds the appended text to a part. For a tool call that is no longer pending, the text is its arguments.
func extend(p sdk.Part, text string) error {
	switch p := p.(type) {
	case *sdk.TextPart:
		p.Text += text
	case *sdk.ReasoningPart:
		p.Text += text
	case *sdk.ToolPart:
		if p.State.Status == sdk.ToolPending {
			p.State.Raw += text
			return nil
		}
		p.State.Input = json.RawMessage(strings.TrimSpace(text)) // in the form in which the call ran
		if !json.Valid(p.State.Input) {
			return errContent
		}
	}
	return nil
}
