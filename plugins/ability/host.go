package ability

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/tenonhq/tenon/sdk"
)

// bound returns the host, nil before Bind. Abilities are asserted from it.
func (b *Broker) bound() sdk.Host {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.host
}

// session returns the session an operation is about: always that of the call the plugin is answering.
func (b *Broker) session(c Caller, op, wanted string) (string, error) {
	if wanted != "" && wanted != c.SessionID {
		return "", &problem{Denied, fmt.Sprintf("%s: plugin %q may not reach another session than the one it is called for; no capability gives that", op, b.plugin)}
	}
	if c.SessionID == "" {
		return "", errors.New("the plugin is not called for a session now; ask while answering a hook or a tool call")
	}
	return c.SessionID, nil
}

// callTool calls a tool the way the model does.
func (b *Broker) callTool(ctx context.Context, c Caller, request []byte) (any, error) {
	var req sdk.ToolRequest
	if err := decode(request, &req); err != nil {
		return nil, err
	}
	if !b.grants.matches(sdk.CapabilityTool, req.Tool) {
		return nil, b.denied("tool", sdk.CapabilityTool, req.Tool)
	}
	session, err := b.session(c, "tool", req.SessionID)
	if err != nil {
		return nil, err
	}
	req.SessionID = session
	if len(req.Args) == 0 {
		req.Args = json.RawMessage("{}")
	}
	caller, ok := b.bound().(sdk.ToolCaller)
	if !ok {
		return nil, missing("tool calls")
	}
	result, err := caller.CallTool(ctx, req)
	if err == nil && result == nil {
		err = fmt.Errorf("the tool %s returned nothing", req.Tool)
	}
	return result, err
}

// messages answers with the messages of the caller's session.
func (b *Broker) messages(ctx context.Context, c Caller, request []byte) (any, error) {
	var req struct {
		SessionID string `json:"sessionID"`
	}
	if err := decode(request, &req); err != nil {
		return nil, err
	}
	session, err := b.session(c, "session", req.SessionID)
	if err != nil {
		return nil, err
	}
	var messages []sdk.MessageWithParts
	if reader, ok := c.Tool.(sdk.MessageReader); ok {
		messages, err = reader.Messages(ctx)
	} else if reader, ok := b.bound().(sdk.SessionReader); ok {
		messages, err = reader.SessionMessages(ctx, session)
	} else {
		err = missing("the messages of a session")
	}
	if messages == nil {
		messages = []sdk.MessageWithParts{}
	}
	return struct {
		Messages []sdk.MessageWithParts `json:"messages"`
	}{messages}, err
}

// ask waits for leave. Who asks and with which arguments is for the host to say, not for the plugin.
func (b *Broker) ask(ctx context.Context, c Caller, request []byte) (any, error) {
	var req sdk.PermissionRequest
	if err := decode(request, &req); err != nil {
		return nil, err
	}
	session, err := b.session(c, "ask", req.SessionID)
	if err != nil {
		return nil, err
	}
	if req.Permission == "" {
		return nil, errors.New("bad request: permission: name the key to ask for")
	}
	req.SessionID, req.ID, req.Tool, req.Agent, req.Args = session, "", nil, "", nil
	// An answer "always" covers what is asked for now; a plugin cannot have it cover more.
	req.Always = slices.DeleteFunc(req.Always, func(p string) bool { return !slices.Contains(req.Patterns, p) })
	if c.Tool != nil {
		return empty{}, c.Tool.Ask(ctx, req)
	}
	asker, ok := b.bound().(sdk.Asker)
	if !ok {
		return nil, missing("leave outside of a tool call")
	}
	return empty{}, asker.AskPermission(ctx, req)
}

// question asks the user.
func (b *Broker) question(ctx context.Context, c Caller, request []byte) (any, error) {
	var req struct {
		SessionID string         `json:"sessionID"`
		Questions []sdk.Question `json:"questions"`
	}
	if err := decode(request, &req); err != nil {
		return nil, err
	}
	session, err := b.session(c, "question", req.SessionID)
	if err != nil {
		return nil, err
	}
	if len(req.Questions) == 0 {
		return nil, errors.New("bad request: questions: there is none")
	}
	var answers [][]string
	if asker, ok := c.Tool.(sdk.Questioner); ok {
		answers, err = asker.Question(ctx, req.Questions)
	} else if asker, ok := b.bound().(sdk.UserQuestioner); ok {
		answers, err = asker.AskUser(ctx, session, req.Questions)
	} else {
		err = missing("questions to the user")
	}
	return struct {
		Answers [][]string `json:"answers"`
	}{answers}, err
}

// sample asks the user's model.
func (b *Broker) sample(ctx context.Context, c Caller, request []byte) (any, error) {
	var req sdk.SampleRequest
	if err := decode(request, &req); err != nil {
		return nil, err
	}
	session, err := b.session(c, "sample", req.SessionID)
	if err != nil {
		return nil, err
	}
	req.SessionID = session
	sampler, ok := b.bound().(sdk.Sampler)
	if !ok {
		return nil, missing("the model")
	}
	result, err := sampler.Sample(ctx, req)
	if err == nil && result == nil {
		err = errors.New("the model returned nothing")
	}
	return result, err
}

// progress shows what a tool call does now.
func (b *Broker) progress(_ context.Context, c Caller, request []byte) (any, error) {
	var req struct {
		Title    string     `json:"title"`
		Metadata sdk.Object `json:"metadata"`
	}
	if err := decode(request, &req); err != nil {
		return nil, err
	}
	if c.Tool == nil {
		return nil, errors.New("only a tool call has progress to show")
	}
	c.Tool.Progress(req.Title, req.Metadata)
	return empty{}, nil
}
