package wire

import (
	"encoding/json"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

// Message is a message in formats where user and assistant messages alternate. B is a block of its content.
type Message[B any] struct {
	Role    string `json:"role"`
	Content []B    `json:"content"`
}

// Blocks builds the content blocks B of such a format.
type Blocks[B any] struct {
	Text      func(string) B
	File      func(*sdk.FilePart) B
	Reasoning func(*sdk.ModelContent) (b B, ok bool) // ok is false for reasoning that the server did not sign
	Call      func(*sdk.ModelContent) B
	Results   func(*sdk.ModelMessage) []B
	// Mark marks the end of a message for the server's cache; nil: no marks.
	Mark func([]B) []B
	// Separators reports that blank texts before signed reasoning are sent back, because signed blocks keep their places.
	Separators bool
}

// Marked is the number of system texts that are marked for the server's cache, as by opencode.
const Marked = 2

// Marks reports whether a request has marks for the server's cache: no other request begins like one for a title or a summary, and storing costs
// more than reading.
func Marks(req *sdk.ModelRequest) bool {
	return req.Params.Options["cacheControl"] == nil && req.Purpose != sdk.PurposeTitle && req.Purpose != sdk.PurposeCompaction
}

// Ends returns the indexes of the messages to mark for the server's cache among n: the last one, and the one where the previous request ended, -1
// without one. Servers look for what they stored at most 20 blocks before a mark. They miss it after an answer with many calls unless the mark
// is where they stored it.
func Ends(n int, assistant func(i int) bool) (last, previous int) {
	previous = n - 1
	for previous >= 0 && !assistant(previous) {
		previous--
	}
	for previous >= 0 && assistant(previous) {
		previous--
	}
	return n - 1, previous
}

// Turns returns a conversation: consecutive messages of one role become one, and results of tools are the user's.
func (f *Blocks[B]) Turns(req *sdk.ModelRequest) []Message[B] {
	var out []Message[B]
	last, previous := Ends(len(req.Messages), func(i int) bool { return req.Messages[i].Role == sdk.RoleAssistant })
	for i := range req.Messages {
		m, role := &req.Messages[i], sdk.RoleUser
		var content []B
		switch m.Role {
		case sdk.RoleAssistant:
			role, content = sdk.RoleAssistant, f.assistant(m.Content, i == last)
		case sdk.RoleTool:
			content = f.Results(m)
		default:
			content = Said(m.Content, f.Text, f.File)
		}
		if f.Mark != nil && (i == last || i == previous) && len(content) > 0 {
			content = f.Mark(content)
		}
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

// assistant returns an earlier answer of the model, with its reasoning unchanged and in place. Servers refuse blank texts, white space at the
// end of a conversation, and reasoning at the end of an answer, which an interruption leaves there.
func (f *Blocks[B]) assistant(contents []sdk.ModelContent, last bool) (out []B) {
	blank := func(c *sdk.ModelContent) bool { return c.Type == sdk.ContentText && strings.TrimSpace(c.Text) == "" }
	for n := len(contents); n > 0 && (contents[n-1].Type == sdk.ContentReasoning || blank(&contents[n-1])); n-- {
		contents = contents[:n-1]
	}
	for i := range contents {
		c := &contents[i]
		switch c.Type {
		case sdk.ContentText:
			text := c.Text
			if last && i == len(contents)-1 {
				text = strings.TrimRight(text, " \t\r\n")
			}
			separates := f.Separators && text != "" && blank(c) && contents[i+1].Type == sdk.ContentReasoning // a blank text is never the last content
			if separates {
				_, separates = f.Reasoning(&contents[i+1])
			}
			if separates || !blank(c) {
				out = append(out, f.Text(text))
			}
		case sdk.ContentReasoning:
			if b, ok := f.Reasoning(c); ok {
				out = append(out, b)
			}
		case sdk.ContentToolCall:
			out = append(out, f.Call(c))
		}
	}
	return out
}

// Said returns the texts and files of a message of the user.
func Said[B any](contents []sdk.ModelContent, text func(string) B, file func(*sdk.FilePart) B) []B {
	var out []B
	for i := range contents {
		c := &contents[i]
		switch {
		case c.Type == sdk.ContentText && strings.TrimSpace(c.Text) != "": // Anthropic and Bedrock refuse blank texts
			out = append(out, text(c.Text))
		case c.Type == sdk.ContentFile:
			out = append(out, file(&sdk.FilePart{Mime: c.Mime, Filename: c.Filename, URL: c.URL}))
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
