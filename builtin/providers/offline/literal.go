package offline

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// Maximum excerpt of a tool's output in an answer.
const (
	shownLines = 24
	shownBytes = 2000
	shownArgs  = 160 // bytes
)

// literal answers with the calls in the prompt or, once they have run, with their results.
func literal(req *sdk.ModelRequest) *step {
	p, at := activePrompt(req)
	ran := results(req.Messages[at+1:])
	if len(p.calls) > 0 && len(ran) == 0 && req.ToolChoice != sdk.ToolChoiceNone {
		return &step{ToolCalls: p.calls, at: at}
	}
	var out strings.Builder
	for _, done := range ran {
		out.WriteString(done.report())
	}
	for _, name := range p.unknown {
		fmt.Fprintf(&out, "%s: tool not found. The tools are: %s\n", name, toolNames(req))
	}
	for _, what := range p.broken {
		fmt.Fprintf(&out, "%s: the arguments are not a JSON object\n", what)
	}
	if out.Len() == 0 {
		return &step{Text: help(req)}
	}
	return &step{Text: strings.TrimRight(out.String(), "\n")}
}

// outcome is one tool call of the conversation and its result.
type outcome struct {
	tool, args, output string
	failed, files      bool
}

// results pairs the tool calls in the messages with their results, in the order of the calls.
func results(messages []sdk.ModelMessage) []*outcome {
	var out []*outcome
	byID := map[string]*outcome{}
	for i := range messages {
		for j := range messages[i].Content {
			c := &messages[i].Content[j]
			switch c.Type {
			case sdk.ContentToolCall:
				byID[c.CallID] = &outcome{tool: c.Tool, args: string(c.Args), failed: true, output: "no result"}
				out = append(out, byID[c.CallID])
			case sdk.ContentToolResult:
				if o := byID[c.CallID]; o != nil {
					o.output, o.failed, o.files = c.Text, c.IsError, len(c.Files) > 0
				}
			}
		}
	}
	return out
}

// report returns a line with the outcome of the call, and its output.
func (o *outcome) report() string {
	how := "ok"
	if o.failed {
		how = "error"
	}
	report := fmt.Sprintf("%s %s: %s\n", o.tool, visible.Cut(o.args, shownArgs, "…"), how)
	if o.files {
		report += "(with files attached)\n"
	}
	if text := strings.TrimRight(o.output, "\n"); text != "" {
		report += excerpt(text) + "\n"
	}
	return report + "\n"
}

// excerpt returns the beginning of text and the size of the rest.
func excerpt(text string) string {
	lines := strings.SplitAfter(text, "\n")
	shown := strings.Join(lines[:min(len(lines), shownLines)], "")
	shown = visible.Cut(shown, shownBytes, "")
	if len(shown) == len(text) {
		return text
	}
	return fmt.Sprintf("%s\n[%d of %d bytes shown]", strings.TrimRight(shown, "\n"), len(shown), len(text))
}

// callID returns the ID of a call. It depends on the call's position, so that answers can be repeated, and on the
// session, so that IDs of two sessions differ.
func callID(req *sdk.ModelRequest, at, i int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d/%d/%d", req.SessionID, len(req.Messages), at, i))
	return fmt.Sprintf("call_%x", sum[:8])
}

func toolNames(req *sdk.ModelRequest) string {
	names := make([]string, len(req.Tools))
	for i := range req.Tools {
		names[i] = req.Tools[i].ID
	}
	return cmp.Or(strings.Join(names, ", "), "none")
}

// help describes this model and how to use another one.
func help(req *sdk.ModelRequest) string {
	return fmt.Sprintf(`This is tenon's offline model. It does not reason: it runs the tool calls in your prompt, one per line, such as

    read {"filePath": "go.mod"}

Tools: %s.

To use a real model, do one of these:
- store a provider's key with tenon auth login, or set its variable, such as OPENAI_API_KEY
- start a local model server, such as Ollama, LM Studio or llama.cpp: tenon finds it
- name a model in tenon.json: {"model": "openai/gpt-6.1-sol"}`, toolNames(req))
}
