package input

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/tenonhq/tenon/mcp/protocol"
	"github.com/tenonhq/tenon/sdk"
)

// sampleTools are the tools of a request to the model. mcp-go's type loses parts of the schemas.
type sampleTools struct {
	Tools []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"inputSchema"`
	} `json:"tools"`
	ToolChoice struct {
		Mode string `json:"mode"`
	} `json:"toolChoice"`
}

// createMessage sends a request to the user's model. The host asks the user for permission first. The server runs the tools that the model
// calls, and sends their results with its next request.
func (r *Responder) createMessage(ctx context.Context, on *protocol.Call, p *mcp.CreateMessageParams, tools *sampleTools) (*mcp.CreateMessageResult, error) {
	sampler, ok := r.Host.(sdk.Sampler)
	if !ok {
		return nil, errors.New("no model available")
	}
	if on == nil || on.Session == "" {
		return nil, errNoCall
	}
	defer on.Pause()()
	sample, err := sampleRequest(p, on.Session)
	if err != nil {
		return nil, err
	}
	for _, t := range tools.Tools {
		sample.Tools = append(sample.Tools, sdk.ToolDefinition{ID: t.Name, Description: t.Description, Parameters: t.InputSchema})
	}
	sample.ToolChoice = tools.ToolChoice.Mode
	answer, err := sampler.Sample(ctx, *sample)
	if err != nil {
		return nil, fmt.Errorf("the model was not asked: %w", err)
	}
	result := &mcp.CreateMessageResult{Model: answer.Model, StopReason: stopReason(answer.FinishReason)}
	result.Role, result.Content = mcp.RoleAssistant, answerContent(answer)
	return result, nil
}

// answerContent returns the text of an answer, or a list with its calls.
func answerContent(answer *sdk.SampleResult) any {
	if len(answer.Calls) == 0 {
		return mcp.NewTextContent(answer.Text)
	}
	var list []mcp.Content
	if answer.Text != "" {
		list = append(list, mcp.NewTextContent(answer.Text))
	}
	for _, c := range answer.Calls {
		list = append(list, mcp.ToolUseContent{Type: "tool_use", ID: c.ID, Name: c.Tool, Input: c.Args})
	}
	return list
}

func stopReason(finish string) string {
	switch finish {
	case sdk.FinishStop, "":
		return "endTurn"
	case sdk.FinishLength:
		return "maxTokens"
	case sdk.FinishToolCalls:
		return "toolUse"
	}
	return finish
}

// sampleRequest converts a request to the model, except for its tools.
func sampleRequest(p *mcp.CreateMessageParams, session string) (*sdk.SampleRequest, error) {
	out := &sdk.SampleRequest{SessionID: session, System: p.SystemPrompt, MaxTokens: int64(p.MaxTokens)}
	if p.Temperature != 0 {
		out.Temperature = &p.Temperature
	}
	if prefs := p.ModelPreferences; prefs != nil {
		for _, hint := range prefs.Hints {
			if hint.Name != "" {
				out.Models = append(out.Models, hint.Name)
			}
		}
		out.Small = max(prefs.CostPriority, prefs.SpeedPriority) > prefs.IntelligencePriority
	}
	c := &sampleConverter{session: session, calls: map[string]*sdk.ToolPart{}}
	for i, m := range p.Messages {
		if err := c.add(m); err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
	}
	for id, call := range c.calls {
		if call.State.Open() {
			return nil, fmt.Errorf("the call %q of tool %q has no result", id, call.Tool)
		}
	}
	if out.Messages = c.messages; len(out.Messages) == 0 {
		return nil, errors.New("no messages")
	}
	return out, nil
}

// sampleConverter converts messages. A result is part of the message with its call.
type sampleConverter struct {
	session  string
	messages []sdk.MessageWithParts
	calls    map[string]*sdk.ToolPart
}

func (c *sampleConverter) add(m mcp.SamplingMessage) error {
	content, err := mcp.ParseSamplingContent(m.Content)
	if err != nil {
		return err
	}
	pieces := []any{content}
	if list, ok := content.([]mcp.Content); ok {
		pieces = pieces[:0]
		for _, piece := range list {
			pieces = append(pieces, piece)
		}
	}
	message := sdk.MessageWithParts{}
	switch m.Role {
	case mcp.RoleUser:
		message.Info = &sdk.UserMessage{MessageHead: sdk.MessageHead{SessionID: c.session}}
	case mcp.RoleAssistant:
		message.Info = &sdk.AssistantMessage{MessageHead: sdk.MessageHead{SessionID: c.session}}
	default:
		return fmt.Errorf("unknown role %q", m.Role)
	}
	for _, piece := range pieces {
		part, err := c.part(m.Role, piece)
		if err != nil {
			return err
		}
		if part != nil {
			message.Parts = append(message.Parts, part)
		}
	}
	if len(message.Parts) > 0 {
		c.messages = append(c.messages, message)
	}
	return nil
}

// part converts a piece of content; nil for a result, which is added to its call.
func (c *sampleConverter) part(role mcp.Role, content any) (sdk.Part, error) {
	if text, ok := mcp.AsTextContent(content); ok {
		return &sdk.TextPart{Text: text.Text}, nil
	}
	if image, ok := mcp.AsImageContent(content); ok {
		if len(image.Data) > maxImage {
			return nil, errors.New("the image is too large")
		}
		return &sdk.FilePart{Mime: image.MIMEType, URL: "data:" + image.MIMEType + ";base64," + image.Data}, nil
	}
	switch piece := content.(type) {
	case mcp.ToolUseContent:
		args, err := json.Marshal(piece.Input)
		if err != nil || role != mcp.RoleAssistant || c.calls[piece.ID] != nil {
			return nil, fmt.Errorf("the call %q: want a unique ID, in a message of the assistant", piece.ID)
		}
		call := &sdk.ToolPart{CallID: piece.ID, Tool: piece.Name, State: sdk.ToolState{Status: sdk.ToolPending, Input: args}}
		c.calls[piece.ID] = call
		return call, nil
	case mcp.ToolResultContent:
		call := c.calls[piece.ToolUseID]
		if call == nil || !call.State.Open() || role != mcp.RoleUser {
			return nil, fmt.Errorf("the result %q: want one for each call before it, in a message of the user", piece.ToolUseID)
		}
		call.State.Status, call.State.Output = sdk.ToolCompleted, resultText(piece)
		if piece.IsError {
			call.State.Status, call.State.Output, call.State.Error = sdk.ToolError, "", call.State.Output
		}
		return nil, nil
	}
	return nil, fmt.Errorf("content of the kind %T is not supported", content)
}

// resultText returns the text of a result, or its structured content without one.
func resultText(result mcp.ToolResultContent) string {
	var texts []string
	for _, piece := range result.Content {
		if text, ok := mcp.AsTextContent(piece); ok {
			texts = append(texts, text.Text)
		}
	}
	return cmp.Or(strings.Join(texts, "\n"), string(result.RawStructuredContent))
}
