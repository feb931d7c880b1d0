package wire

import (
	"encoding/json"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

// Message is a message in formats where user and assistant take turns. B is a block of its content.
type Message[B any] struct {
	Role    string `json:"role"`
	Content []B    `json:"content"`
}

// Turns returns a conversation: consecutive messages of one role become one, and results of tools are the user's. blocks returns the content
// of message i.
func Turns[B any](messages []sdk.ModelMessage, blocks func(i int, m *sdk.ModelMessage) []B) []Message[B] {
	var out []Message[B]
	for i := range messages {
		role := sdk.RoleUser
		if messages[i].Role == sdk.RoleAssistant {
			role = sdk.RoleAssistant
		}
		content := blocks(i, &messages[i])
		switch n := len(out); {
		case len(content) == 0:
		case n > 0 && out[n-1].Role == role:
			out[n-1].Content = append(out[n-1].Content, content...)
		default:
			out = append(out, Message[B]{role, content})
		}
	}
	return out
}

// Said returns the texts and files of a message of the user.
func Said[B any](m *sdk.Model, contents []sdk.ModelContent, text func(string) B, file func(Attachment) B) []B {
	var out []B
	for i := range contents {
		c := &contents[i]
		switch {
		case c.Type == sdk.ContentText && strings.TrimSpace(c.Text) != "": // Anthropic and Bedrock refuse blank texts
			out = append(out, text(c.Text))
		case c.Type == sdk.ContentFile:
			out = append(out, file(NewAttachment(m, c.Mime, c.Filename, c.URL)))
		}
	}
	return out
}

// Object returns the arguments of an earlier call; an empty object in place of anything else.
func Object(args json.RawMessage) json.RawMessage {
	if len(args) == 0 || args[0] != '{' || !json.Valid(args) {
		return json.RawMessage("{}")
	}
	return args
}
