package input

import (
	"context"
	"errors"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/tenonhq/tenon/mcp/protocol"
	"github.com/tenonhq/tenon/sdk"
)

// sampling is a request to the user's model. In mcp-go's type, the temperature 0 looks like none.
type sampling struct {
	mcp.CreateMessageParams
	Temperature *float64 `json:"temperature"`
}

// createMessage sends a request to the user's model. The host asks the user for permission first.
func (r *Responder) createMessage(ctx context.Context, on *protocol.Call, p *sampling) (*mcp.CreateMessageResult, error) {
	sampler, ok := r.Host.(sdk.Sampler)
	if !ok {
		return nil, errors.New("no model available")
	}
	if on == nil || on.Session == "" {
		return nil, errNoCall
	}
	resume, err := on.Pause()
	if err != nil {
		return nil, err
	}
	defer resume()
	sample, err := sampleRequest(p, on.Session)
	if err != nil {
		return nil, err
	}
	answer, err := sampler.Sample(ctx, *sample)
	if err != nil {
		return nil, fmt.Errorf("the model was not asked: %w", err)
	}
	result := &mcp.CreateMessageResult{Model: answer.Model, StopReason: stopReason(answer.FinishReason)}
	result.Role, result.Content = mcp.RoleAssistant, mcp.NewTextContent(answer.Text)
	return result, nil
}

func stopReason(finish string) string {
	switch finish {
	case sdk.FinishStop, "":
		return "endTurn"
	case sdk.FinishLength:
		return "maxTokens"
	}
	return finish
}

// sampleRequest converts a request to the model.
func sampleRequest(p *sampling, session string) (*sdk.SampleRequest, error) {
	if len(p.Tools) > 0 || p.ToolChoice != nil {
		return nil, errors.New("this client does not support tools in requests to the model")
	}
	out := &sdk.SampleRequest{SessionID: session, System: p.SystemPrompt, MaxTokens: int64(p.MaxTokens), Temperature: p.Temperature}
	if prefs := p.ModelPreferences; prefs != nil {
		for _, hint := range prefs.Hints {
			if hint.Name != "" {
				out.Models = append(out.Models, hint.Name)
			}
		}
		out.Small = max(prefs.CostPriority, prefs.SpeedPriority) > prefs.IntelligencePriority
	}
	for i, m := range p.Messages {
		message, err := sampleMessage(m, session)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
		if len(message.Parts) > 0 {
			out.Messages = append(out.Messages, message)
		}
	}
	if len(out.Messages) == 0 {
		return nil, errors.New("no messages")
	}
	return out, nil
}

func sampleMessage(m mcp.SamplingMessage, session string) (out sdk.MessageWithParts, err error) {
	content, err := mcp.ParseSamplingContent(m.Content)
	if err != nil {
		return out, err
	}
	pieces := []any{content}
	if list, several := content.([]mcp.Content); several {
		pieces = pieces[:0]
		for _, piece := range list {
			pieces = append(pieces, piece)
		}
	}
	switch m.Role {
	case mcp.RoleUser:
		out.Info = &sdk.UserMessage{MessageHead: sdk.MessageHead{SessionID: session}}
	case mcp.RoleAssistant:
		out.Info = &sdk.AssistantMessage{MessageHead: sdk.MessageHead{SessionID: session}}
	default:
		return out, fmt.Errorf("unknown role %q", m.Role)
	}
	for _, piece := range pieces {
		part, err := samplePart(piece)
		if err != nil {
			return out, err
		}
		out.Parts = append(out.Parts, part)
	}
	return out, nil
}

// samplePart converts a piece of content.
func samplePart(content any) (sdk.Part, error) {
	if text, ok := mcp.AsTextContent(content); ok {
		return &sdk.TextPart{Text: text.Text}, nil
	}
	if image, ok := mcp.AsImageContent(content); ok {
		if len(image.Data) > maxImage {
			return nil, errors.New("the image is too large")
		}
		return &sdk.FilePart{Mime: image.MIMEType, URL: "data:" + image.MIMEType + ";base64," + image.Data}, nil
	}
	return nil, fmt.Errorf("content of the kind %T is not supported", content)
}
