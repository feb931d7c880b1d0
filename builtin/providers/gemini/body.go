package gemini

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/sdk"
)

// Keys of the metadata of text, reasoning and tool calls, which later requests contain.
const (
	metaSignature = "thoughtSignature"
	metaID        = "id" // true: the server chose the ID of the call
)

// anySignature replaces the missing signature of a call that another model wrote, see
// https://ai.google.dev/gemini-api/docs/thought-signatures.
const anySignature = "skip_thought_signature_validator"

// content is a message.
type content struct {
	Role  string `json:"role,omitempty"`
	Parts []part `json:"parts"`
}

// part is a piece of a message. One field is set, and in the model's answers also Thought and Signature.
type part struct {
	Text      *string           `json:"text,omitempty"`
	Thought   bool              `json:"thought,omitempty"`
	Call      *functionCall     `json:"functionCall,omitempty"`
	Response  *functionResponse `json:"functionResponse,omitempty"`
	Inline    *blob             `json:"inlineData,omitempty"`
	Signature string            `json:"thoughtSignature,omitempty"`
}

type functionCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

type functionResponse struct {
	ID       string     `json:"id,omitempty"`
	Name     string     `json:"name"`
	Response sdk.Object `json:"response"`
	Parts    []part     `json:"parts,omitempty"`
}

type blob struct {
	MimeType string `json:"mimeType"`
	Data     string `json:"data"`
}

type declaration struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Parameters  any    `json:"parameters,omitempty"`
}

// Body encodes a request.
func (c *client) Body(req *sdk.ModelRequest) ([]byte, error) {
	var b wire.Body
	system := strings.Join(req.System, "\n\n")
	name := strings.ToLower(wire.APIName(&req.Model))
	gemma := strings.HasPrefix(name, "gemma-")
	contents := c.contents(req, strings.Contains(name, "gemini-3"))
	if gemma && system != "" { // Gemma does not accept a system prompt
		contents = withSystem(contents, system)
	}
	b.Set("contents", contents)
	if system != "" && !gemma {
		b.Set("systemInstruction", content{Parts: []part{text(system)}})
	}
	if len(req.Tools) > 0 {
		declarations := make([]declaration, len(req.Tools))
		for i := range req.Tools {
			t := &req.Tools[i]
			schema, err := parameters(t)
			if err != nil {
				return nil, fmt.Errorf("tool %q: %w", t.ID, err)
			}
			declarations[i] = declaration{geminiName(t.ID), t.Description, schema}
		}
		b.Set("tools", []sdk.Object{{"functionDeclarations": declarations}})
		if mode := map[string]string{sdk.ToolChoiceRequired: "ANY", sdk.ToolChoiceNone: "NONE"}[req.ToolChoice]; mode != "" {
			b.Set("toolConfig", sdk.Object{"functionCallingConfig": sdk.Object{"mode": mode}})
		}
	}
	config := wire.Sampling(&req.Params, "topP", "topK")
	if limit := req.Params.MaxOutputTokens; limit > 0 {
		config["maxOutputTokens"] = limit
	}
	if len(config) > 0 {
		b.Set("generationConfig", config)
	}
	b.Merge(wire.Renamed(req.Params.Options, optionNames()))
	return b.Encode(wire.SizeOf(req))
}

// optionNames returns the names of options in the format. Configurations for the AI SDK do not nest the options of generationConfig.
func optionNames() map[string]string {
	names := map[string]string{"structuredOutputs": "", "streamFunctionCallArguments": ""}
	for _, name := range []string{"thinkingConfig", "responseModalities", "mediaResolution", "audioTimestamp", "imageConfig"} {
		names[name] = "generationConfig." + name
	}
	return names
}

func text(s string) part { return part{Text: &s} }

// withSystem puts the system prompt before the first text of the user.
func withSystem(contents []content, system string) []content {
	if len(contents) == 0 || contents[0].Role != sdk.RoleUser {
		return append([]content{{sdk.RoleUser, []part{text(system)}}}, contents...)
	}
	contents[0].Parts = append([]part{text(system + "\n\n")}, contents[0].Parts...)
	return contents
}

// contents returns the conversation.
func (c *client) contents(req *sdk.ModelRequest, three bool) []content {
	ids := c.serverIDs(req)
	var out []content
	for i := range req.Messages {
		m := &req.Messages[i]
		next := content{Role: sdk.RoleUser}
		switch m.Role {
		case sdk.RoleAssistant:
			next = content{"model", answerParts(m, ids, three)}
		case sdk.RoleTool:
			next.Parts = resultParts(m, ids, three)
		default:
			next.Parts = wire.Said(m.Content, text, filePart)
		}
		if len(next.Parts) > 0 {
			out = append(out, next)
		}
	}
	return out
}

// serverIDs returns the calls whose ID the server chose: it accepts no other IDs.
func (c *client) serverIDs(req *sdk.ModelRequest) map[string]string {
	ids := map[string]string{}
	for i := range req.Messages {
		for j := range req.Messages[i].Content {
			if call := &req.Messages[i].Content[j]; call.Type == sdk.ContentToolCall && call.Metadata[metaID] == true && !c.vertex {
				ids[call.CallID] = call.CallID
			}
		}
	}
	return ids
}

func filePart(f *sdk.FilePart) part {
	return part{Inline: &blob{f.Mime, wire.Base64(f.URL)}}
}

// answerParts returns an earlier answer of the model, with its signatures in their places.
func answerParts(m *sdk.ModelMessage, ids map[string]string, three bool) []part {
	var out []part
	called := false
	for i := range m.Content {
		piece := &m.Content[i]
		signature, _ := piece.Metadata[metaSignature].(string)
		switch piece.Type {
		case sdk.ContentText, sdk.ContentReasoning:
			if piece.Text != "" || signature != "" {
				out = append(out, part{Text: &piece.Text, Thought: piece.Type == sdk.ContentReasoning, Signature: signature})
			}
		case sdk.ContentToolCall:
			if signature == "" && three && !called {
				signature = anySignature // Gemini 3 refuses a step whose first call has no signature
			}
			called = true
			out = append(out, part{Call: &functionCall{ids[piece.CallID], geminiName(piece.Tool), wire.Object(piece.Args)}, Signature: signature})
		}
	}
	return out
}

// namePrefix marks names of tools that Gemini would refuse: the first character is a letter or an underscore, see
// https://ai.google.dev/api/caching#FunctionDeclaration.
const namePrefix = "n__"

// geminiName returns the name of a tool in a form that Gemini accepts; toolName is the inverse.
func geminiName(name string) string {
	if name = wire.ToolName(name); strings.ContainsRune("0123456789-", rune(name[0])) {
		return namePrefix + name
	}
	return name
}

func toolName(name string) string {
	if rest, ok := strings.CutPrefix(name, namePrefix); ok && rest != "" && strings.ContainsRune("0123456789-", rune(rest[0])) {
		return rest
	}
	return name
}

// resultParts returns the results of calls. Gemini 3 accepts files within them, older models after them.
func resultParts(m *sdk.ModelMessage, ids map[string]string, three bool) []part {
	var out, beside []part
	for i := range m.Content {
		result := &m.Content[i]
		var files []part
		for _, f := range result.Files {
			files = append(files, filePart(f))
		}
		response := &functionResponse{
			ID: ids[result.CallID], Name: geminiName(result.Tool),
			Response: sdk.Object{"name": geminiName(result.Tool), "content": wire.Output(result.Text)},
		}
		if three && !slices.ContainsFunc(files, func(p part) bool { return p.Inline == nil }) {
			response.Parts = files
		} else {
			beside = append(beside, files...)
		}
		out = append(out, part{Response: response})
	}
	return append(out, beside...)
}
