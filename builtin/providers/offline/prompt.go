package offline

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/sdk"
)

// callLine is a line that may be a tool call: a name and an object.
var callLine = lazyregexp.New(`^[ \t]*([A-Za-z0-9_-]{1,64})[ \t]+(\{.*)`)

// attached matches the beginning of a text that the host added to the prompt: a file or a directory.
// Its lines are not the user's calls.
var attached = lazyregexp.New(`^<[a-z]+ path="`)

// prompt contains the calls found in a user message.
type prompt struct {
	calls   []toolCall
	unknown []string // names before an object that are not tools
	broken  []string // calls with invalid JSON arguments, and the reason
}

func (p *prompt) empty() bool { return len(p.calls)+len(p.unknown)+len(p.broken) == 0 }

// readPrompt finds the calls in a user message.
func readPrompt(m *sdk.ModelMessage, tools []sdk.ToolDefinition) *prompt {
	p := &prompt{}
	for _, text := range userTexts(m) {
		p.read(text, tools)
	}
	return p
}

func (p *prompt) read(text string, tools []sdk.ToolDefinition) {
	for line := range strings.Lines(text) {
		match := callLine().FindStringSubmatch(line)
		if match == nil {
			continue
		}
		name, args := match[1], json.RawMessage(strings.TrimSpace(match[2]))
		known := slices.ContainsFunc(tools, func(t sdk.ToolDefinition) bool { return t.ID == name })
		var object map[string]json.RawMessage
		switch err := json.Unmarshal(args, &object); {
		case err != nil && known:
			p.broken = append(p.broken, name+": "+err.Error())
		case err != nil: // prose or code with a brace
		case !known:
			p.unknown = append(p.unknown, name)
		default:
			var compact bytes.Buffer
			_ = json.Compact(&compact, args) // it was read as JSON
			p.calls = append(p.calls, toolCall{name, compact.Bytes()})
		}
	}
}

// activePrompt returns the user message to answer and its index, or -1. The host may add a message without
// calls while the results of an earlier one are still unanswered; the earlier one then stays active.
func activePrompt(req *sdk.ModelRequest) (*prompt, int) {
	last := lastUser(req.Messages, len(req.Messages))
	if last < 0 {
		return &prompt{}, -1
	}
	p := readPrompt(&req.Messages[last], req.Tools)
	for i := last; p.empty() && i > 0 && req.Messages[i-1].Role == sdk.RoleTool; {
		i = lastUser(req.Messages, i)
		if i < 0 {
			break
		}
		if earlier := readPrompt(&req.Messages[i], req.Tools); !earlier.empty() || req.ToolChoice == sdk.ToolChoiceNone {
			return earlier, i
		}
	}
	return p, last
}

// lastUser returns the index of the last user message before end, or -1.
func lastUser(messages []sdk.ModelMessage, end int) int {
	for i := end - 1; i >= 0; i-- {
		if messages[i].Role == sdk.RoleUser {
			return i
		}
	}
	return -1
}

// userTexts returns the user's own texts in a message.
func userTexts(m *sdk.ModelMessage) []string {
	var texts []string
	for i := range m.Content {
		if c := &m.Content[i]; c.Type == sdk.ContentText && !attached().MatchString(c.Text) {
			texts = append(texts, c.Text)
		}
	}
	return texts
}
