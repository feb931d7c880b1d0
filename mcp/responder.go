package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// responder answers a server's requests during a call: to the user's model, to the user, for the project's directory. Every
// answer belongs to a session, so requests without a known session are refused.
type responder struct {
	server  string
	host    sdk.Host // nil while a server is only probed
	timeout time.Duration
	calls   *calls
}

var errNoCall = errors.New("the request belongs to no tool call")

// answer answers a request of the server; errNoMethod for an unknown method.
func (r *responder) answer(ctx context.Context, method string, params json.RawMessage) (any, error) {
	switch mcp.MCPMethod(method) {
	case mcp.MethodPing:
		return struct{}{}, nil
	case mcp.MethodListRoots:
		return r.roots(), nil
	case mcp.MethodSamplingCreateMessage:
		var p mcp.CreateMessageParams
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, fmt.Errorf("invalid parameters: %w", err)
		}
		return r.createMessage(ctx, &p)
	case mcp.MethodElicitationCreate:
		var p mcp.ElicitationParams
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, fmt.Errorf("invalid parameters: %w", err)
		}
		return r.elicit(ctx, &p)
	}
	return nil, errNoMethod
}

// input answers a request for input of a server of the stateless revision.
func (r *responder) input(ctx context.Context, in mcp.InputRequest) (mcp.InputResponse, error) {
	switch {
	case in.Method == mcp.MethodListRoots:
		return mcp.NewRootsInputResponse(*r.roots()), nil
	case in.Method == mcp.MethodSamplingCreateMessage && in.Sampling != nil:
		result, err := r.createMessage(ctx, in.Sampling)
		if err != nil {
			return mcp.InputResponse{}, err
		}
		return mcp.NewSamplingInputResponse(*result), nil
	case in.Method == mcp.MethodElicitationCreate && in.Elicitation != nil:
		result, err := r.elicit(ctx, in.Elicitation)
		if err != nil {
			return mcp.InputResponse{}, err
		}
		return mcp.NewElicitationInputResponse(*result), nil
	}
	return mcp.InputResponse{}, fmt.Errorf("unsupported request %q", in.Method)
}

// roots returns the project's directory.
func (r *responder) roots() *mcp.ListRootsResult {
	result := &mcp.ListRootsResult{Roots: []mcp.Root{}}
	if r.host != nil {
		dir := r.host.Project().Worktree
		path := filepath.ToSlash(dir)
		if !strings.HasPrefix(path, "/") {
			path = "/" + path // a drive letter
		}
		u := url.URL{Scheme: "file", Path: path}
		result.Roots = append(result.Roots, mcp.Root{URI: u.String(), Name: filepath.Base(dir)})
	}
	return result
}

// createMessage sends a request to the user's model. The host asks the user for permission first.
func (r *responder) createMessage(ctx context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	on := r.calls.of(ctx)
	sampler, ok := r.host.(sdk.Sampler)
	if !ok {
		return nil, errors.New("no model available")
	}
	if on == nil || on.session == "" {
		return nil, errNoCall
	}
	if len(p.Tools) > 0 {
		return nil, errors.New("tools are not supported in requests to the model")
	}
	defer on.pause()()
	sample, err := sampleRequest(p, on.session)
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
	for i, m := range p.Messages {
		content, err := mcp.ParseSamplingContent(m.Content)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
		part, err := samplePart(content)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
		message := sdk.MessageWithParts{Parts: sdk.Parts{part}}
		switch m.Role {
		case mcp.RoleUser:
			message.Info = &sdk.UserMessage{MessageHead: sdk.MessageHead{SessionID: session}}
		case mcp.RoleAssistant:
			message.Info = &sdk.AssistantMessage{MessageHead: sdk.MessageHead{SessionID: session}}
		default:
			return nil, fmt.Errorf("message %d: unknown role %q", i+1, m.Role)
		}
		out.Messages = append(out.Messages, message)
	}
	if len(out.Messages) == 0 {
		return nil, errors.New("no messages")
	}
	return out, nil
}

func samplePart(content any) (sdk.Part, error) {
	if text, ok := mcp.AsTextContent(content); ok {
		return &sdk.TextPart{Text: text.Text}, nil
	}
	if image, ok := mcp.AsImageContent(content); ok {
		if len(image.Data) > maxAttachment {
			return nil, errors.New("the image is too large")
		}
		return &sdk.FilePart{Mime: image.MIMEType, URL: "data:" + image.MIMEType + ";base64," + image.Data}, nil
	}
	return nil, fmt.Errorf("content of the kind %T is not supported", content)
}

// elicit asks the user. If there is no user, or the user declines, the server gets that as the answer.
func (r *responder) elicit(ctx context.Context, p *mcp.ElicitationParams) (*mcp.ElicitationResult, error) {
	if p.Mode != "" && p.Mode != mcp.ElicitationModeForm {
		return nil, fmt.Errorf("elicitation mode %q is not supported: tenon does not open URLs for a server", p.Mode)
	}
	form, err := readForm(p.RequestedSchema)
	if err != nil {
		return nil, err
	}
	on := r.calls.of(ctx)
	if on == nil {
		return nil, errNoCall
	}
	defer on.pause()()
	content, err := form.fill(func(questions []sdk.Question) ([][]string, error) {
		return r.question(ctx, on, questions)
	}, fmt.Sprintf("MCP server %s: %s", visible.Strip(r.server), bound(p.Message, 2<<10)))
	result := &mcp.ElicitationResult{}
	var refusal *sdk.Refusal
	switch {
	case err == nil && content == nil, errors.Is(err, sdk.ErrHeadless), errors.Is(err, errors.ErrUnsupported):
		result.Action = mcp.ElicitationResponseActionDecline
	case errors.As(err, &refusal):
		result.Action = mcp.ElicitationResponseActionCancel
	case err != nil:
		return nil, err
	default:
		result.Action, result.Content = mcp.ElicitationResponseActionAccept, content
	}
	return result, nil
}

// question asks on behalf of a call: through the call itself, or through the host.
func (r *responder) question(ctx context.Context, on *call, questions []sdk.Question) ([][]string, error) {
	if q, ok := on.host.(sdk.Questioner); ok {
		return q.Question(ctx, questions)
	}
	if q, ok := r.host.(sdk.UserQuestioner); ok && on.session != "" {
		return q.AskUser(ctx, on.session, questions)
	}
	return nil, errors.ErrUnsupported
}
