package bedrock

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/sdk"
)

// content is a content block of a message. One field is set.
type content struct {
	Text       *string     `json:"text,omitempty"`
	Image      *media      `json:"image,omitempty"`
	Document   *media      `json:"document,omitempty"`
	ToolUse    *toolUse    `json:"toolUse,omitempty"`
	ToolResult *toolResult `json:"toolResult,omitempty"`
	Reasoning  *reasoning  `json:"reasoningContent,omitempty"`
	CachePoint *cachePoint `json:"cachePoint,omitempty"`
}

type media struct {
	Format string `json:"format"`
	Name   string `json:"name,omitempty"` // of a document
	Source struct {
		Bytes string `json:"bytes"`
	} `json:"source"`
}

type toolUse struct {
	ID    string          `json:"toolUseId"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

type toolResult struct {
	ID      string    `json:"toolUseId"`
	Content []content `json:"content"`
	Status  string    `json:"status,omitempty"`
}

type reasoning struct {
	Text     *reasoningText `json:"reasoningText,omitempty"`
	Redacted string         `json:"redactedContent,omitempty"`
}

type reasoningText struct {
	Text      string `json:"text"`
	Signature string `json:"signature"`
}

type cachePoint struct {
	Type string `json:"type"`
}

// Body encodes a request.
func (c *client) Body(req *sdk.ModelRequest) ([]byte, error) {
	var b wire.Body
	options := wire.Renamed(req.Params.Options, map[string]string{
		"reasoningConfig": "", "anthropicBeta": "additionalModelRequestFields.anthropic_beta", "cacheControl": "", "setCacheKey": "",
	})
	additional, _ := wire.AsObject(options["additionalModelRequestFields"])
	delete(options, "additionalModelRequestFields")
	e := &encoder{req: req, claude: strings.Contains(req.Model.FamilyText(), "claude"), additional: sdk.Object{}}
	if req.ToolChoice != sdk.ToolChoiceNone { // the server has no such choice
		e.tools = req.Tools
	}
	maps.Copy(e.additional, additional)
	if system := e.system(); len(system) > 0 {
		b.Set("system", system)
	}
	b.Set("messages", e.messages())
	b.Set("inferenceConfig", e.inference())
	if len(e.tools) > 0 {
		b.Set("toolConfig", e.toolConfig())
	}
	if len(e.additional) > 0 {
		b.Set("additionalModelRequestFields", e.additional)
	}
	b.Merge(options)
	return b.Encode(wire.SizeOf(req))
}

// encoder encodes one request.
type encoder struct {
	req        *sdk.ModelRequest
	claude     bool
	tools      []sdk.ToolDefinition // tools that the model can call
	additional sdk.Object           // fields of the model's own API
	documents  int                  // number of documents so far
}

func (e *encoder) mark() bool { return e.claude && wire.Marks(e.req) }

func text(s string) content { return content{Text: &s} }

func point() content { return content{CachePoint: &cachePoint{"default"}} }

func (e *encoder) system() []content {
	var out []content
	for i, s := range e.req.System {
		if strings.TrimSpace(s) == "" {
			continue
		}
		if out = append(out, text(s)); i < wire.Marked && e.mark() {
			out = append(out, point())
		}
	}
	return out
}

// messages returns the conversation.
func (e *encoder) messages() []wire.Message[content] {
	blocks := wire.Blocks[content]{Text: text, File: e.file, Reasoning: signed, Call: e.call, Results: e.results}
	if e.mark() {
		blocks.Mark = func(blocks []content) []content { return append(blocks, point()) }
	}
	return blocks.Turns(e.req)
}

// file returns an image or a document. The server accepts only simple names that are unique in a request.
func (e *encoder) file(f *sdk.FilePart) content {
	data := wire.Base64(f.URL)
	_, format, _ := strings.Cut(f.Mime, "/")
	m := &media{Format: format}
	m.Source.Bytes = data
	switch {
	case wire.Image(f):
		if e.claude {
			if instead := wire.OversizedImage(f.Filename, data, 5<<20); instead != "" {
				return text(instead)
			}
		}
		return content{Image: m}
	case f.Mime == wire.PDF:
		e.documents++
		m.Name = fmt.Sprintf("document-%d", e.documents)
		return content{Document: m}
	}
	return text(wire.Unsupported(f))
}

// signed returns reasoning that the server signed.
func signed(piece *sdk.ModelContent) (content, bool) {
	if data, _ := piece.Metadata[metaRedacted].(string); data != "" {
		return content{Reasoning: &reasoning{Redacted: data}}, true
	}
	signature, _ := piece.Metadata[metaSignature].(string)
	return content{Reasoning: &reasoning{Text: &reasoningText{piece.Text, signature}}}, signature != ""
}

// call returns a call. Without tools in the request the server refuses calls, so they become text.
func (e *encoder) call(piece *sdk.ModelContent) content {
	args := wire.Object(piece.Args)
	if len(e.tools) == 0 {
		return text(fmt.Sprintf("[called %s %s]", piece.Tool, args))
	}
	return content{ToolUse: &toolUse{wire.CallID(piece.CallID), wire.ToolName(piece.Tool), args}}
}

func (e *encoder) results(m *sdk.ModelMessage) []content {
	var out []content
	for i := range m.Content {
		piece := &m.Content[i]
		inner := []content{text(wire.Output(piece.Text))}
		if e.filesInResults() || len(e.tools) == 0 {
			for _, f := range piece.Files {
				inner = append(inner, e.file(f))
			}
		}
		if len(e.tools) == 0 {
			out = append(out, inner...)
			continue
		}
		result := &toolResult{ID: wire.CallID(piece.CallID), Content: inner}
		if piece.IsError && e.claude {
			result.Status = "error"
		}
		out = append(out, content{ToolResult: result})
	}
	if len(e.tools) > 0 && !e.filesInResults() {
		out = append(out, wire.Said(wire.ResultFiles(m.Content), text, e.file)...)
	}
	return out
}

// filesInResults reports whether the model accepts files within the results of calls; other models get them after the results.
func (e *encoder) filesInResults() bool {
	name := e.req.Model.FamilyText()
	return slices.ContainsFunc([]string{"claude", "nova", "llama4"}, func(family string) bool { return strings.Contains(name, family) })
}

func (e *encoder) toolConfig() sdk.Object {
	tools := make([]sdk.Object, len(e.tools))
	for i := range e.tools {
		t := &e.tools[i]
		spec := sdk.Object{"name": t.ID, "inputSchema": sdk.Object{"json": wire.Parameters(t, e.claude)}}
		if t.Description != "" {
			spec["description"] = t.Description
		}
		tools[i] = sdk.Object{"toolSpec": spec}
	}
	out := sdk.Object{"tools": tools}
	if e.req.ToolChoice == sdk.ToolChoiceRequired && !e.thinks() && wire.ForcesTools(e.req.Model.FamilyText()) {
		out["toolChoice"] = sdk.Object{"any": sdk.Object{}}
	}
	return out
}

// inference returns the parameters that all models share, and sets the options of reasoning where the model's family requires them.
func (e *encoder) inference() sdk.Object {
	p := &e.req.Params
	budget := e.setReasoning()
	out := sdk.Object{}
	if limit := p.MaxOutputTokens; limit > 0 {
		limit += budget
		if highest := e.req.Model.Limit.Output; highest > 0 {
			limit = min(limit, highest)
		}
		out["maxTokens"] = limit
	}
	if e.thinks() {
		return out // sampling parameters are refused
	}
	maps.Copy(out, wire.Sampling(p, "topP", ""))
	if p.TopK != nil && e.claude {
		e.additional["top_k"] = *p.TopK
	}
	return out
}

// thinks reports whether the fields of Claude's API turn its reasoning on.
func (e *encoder) thinks() bool { return wire.Thinking(e.additional) != nil }

// setReasoning sets the fields of reasoning and returns its budget in tokens, 0 without one.
func (e *encoder) setReasoning() int64 {
	config, _ := wire.AsObject(e.req.Params.Options["reasoningConfig"])
	kind, effort := wire.Scalar(config["type"]), config["maxReasoningEffort"]
	switch {
	case config == nil:
	case e.claude:
		thinking := sdk.Object{"type": kind}
		budget, ok := wire.NumberOf(config["budgetTokens"])
		if ok && kind == "enabled" {
			thinking["budget_tokens"] = int64(budget)
		}
		if display := config["display"]; display != nil {
			thinking["display"] = display
		}
		if kind != "" {
			e.additional["thinking"] = thinking
		}
		if effort != nil {
			e.additional["output_config"] = sdk.Object{"effort": effort}
		}
		if ok && kind == "enabled" && budget > 0 && budget < 1e9 {
			return int64(budget)
		}
	case strings.Contains(e.req.Model.FamilyText(), "gpt-oss"):
		if effort != nil {
			e.additional["reasoning_effort"] = effort
		}
	default:
		e.additional["reasoningConfig"] = config
	}
	return 0
}
