package ability

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

// operation is one kind of request.
type operation struct {
	capability string // the required grant; empty: none
	run        func(ctx context.Context, c Caller, request []byte) (any, error)
}

// table returns the operations by name. To add one, write its function here, describe it in docs/abilities.md, and call it in sdk/guest.
func (b *Broker) table() map[string]operation {
	return map[string]operation{
		"kv.get":     op(sdk.CapabilityKV, b.kv.get),
		"kv.set":     op(sdk.CapabilityKV, b.kv.set),
		"kv.delete":  op(sdk.CapabilityKV, b.kv.remove),
		"kv.keys":    op(sdk.CapabilityKV, b.kv.keys),
		"config":     op(sdk.CapabilityConfig, b.config),
		"secret":     op(sdk.CapabilitySecret, b.readSecret),
		"time":       op(sdk.CapabilityClock, b.time),
		"http":       op(sdk.CapabilityHTTP, b.fetch),
		"http.read":  op(sdk.CapabilityHTTP, b.readStream),
		"http.close": op(sdk.CapabilityHTTP, b.closeStream),
		"tool":       b.inSession(op(sdk.CapabilityTool, b.callTool)),
		"session":    b.inSession(op(sdk.CapabilitySession, b.messages)),
		"ask":        b.inSession(op(sdk.CapabilityAsk, b.ask)),
		"question":   b.inSession(op(sdk.CapabilityAsk, b.question)),
		"sample":     b.inSession(op(sdk.CapabilityModel, b.sample)),
		"progress":   op("", b.progress),

		"signin.notice": op(sdk.CapabilityAuth, b.signInNotice),
		"signin.code":   op(sdk.CapabilityAuth, b.signInCode),
		"signin.visit":  op(sdk.CapabilityAuth, b.signInVisit),
	}
}

// op returns an operation whose request is decoded for run; an empty request counts as {}.
func op[In, Out any](capability string, run func(context.Context, Caller, In) (Out, error)) operation {
	return operation{capability, func(ctx context.Context, c Caller, request []byte) (any, error) {
		var in In
		if len(request) > 0 {
			if err := Unmarshal(request, &in); err != nil {
				return nil, fmt.Errorf("bad request: %w", jsontext.Mismatch(err))
			}
		}
		return run(ctx, c, in)
	}}
}

// maxValues is the maximum number of JSON values in data of a plugin: an empty object of 3 bytes takes up to 200 in memory.
const maxValues = 1 << 20

// Unmarshal is json.Unmarshal for data of plugins.
func Unmarshal(data []byte, v any) error {
	if value.Crowded(data, maxValues) {
		return fmt.Errorf("more than %d JSON values", maxValues)
	}
	return json.Unmarshal(data, v)
}

// empty is the answer of operations without a result.
type empty struct{}

// timeNow is the answer of time.
type timeNow struct {
	UnixMilli int64 `json:"unixMilli"`
}

// config returns the merged configuration without its secrets.
func (b *Broker) config(context.Context, Caller, any) (*sdk.Config, error) {
	host, err := able[sdk.ConfigReader](b, "the configuration")
	if err != nil {
		return nil, err
	}
	return host.Config(), nil
}

// readSecret returns a variable of the host's environment whose exact name was granted.
func (b *Broker) readSecret(_ context.Context, _ Caller, req guest.SecretRequest) (v guest.SecretValue, err error) {
	if !b.grants.names(sdk.CapabilitySecret, req.Name) {
		return v, b.denied(sdk.CapabilitySecret, req.Name)
	}
	value, found := b.opts.Secret(req.Name)
	if !found {
		return v, fmt.Errorf("the environment of tenon has no variable %s; set it and start tenon again", req.Name)
	}
	return guest.SecretValue{Value: value}, nil
}

// time returns the real time.
func (*Broker) time(context.Context, Caller, any) (timeNow, error) {
	return timeNow{time.Now().UnixMilli()}, nil
}

// callTool calls a tool, like a call of the model.
func (b *Broker) callTool(ctx context.Context, c Caller, req sdk.ToolRequest) (result *sdk.ToolResult, err error) {
	if !b.grants.matches(sdk.CapabilityTool, req.Tool) {
		return nil, b.denied(sdk.CapabilityTool, req.Tool)
	}
	if len(req.Args) == 0 {
		req.Args = json.RawMessage("{}")
	}
	req.SessionID = c.SessionID
	host, err := able[sdk.ToolCaller](b, "tool calls")
	if err != nil {
		return nil, err
	}
	return host.CallTool(ctx, req)
}

// messages returns the messages of the caller's session.
func (b *Broker) messages(ctx context.Context, c Caller, _ guest.SessionRequest) (out guest.SessionMessages, err error) {
	if reader, ok := c.Tool.(sdk.MessageReader); ok {
		out.Messages, err = reader.Messages(ctx)
	} else if reader, ok := b.bound().(sdk.SessionReader); ok {
		out.Messages, err = reader.SessionMessages(ctx, c.SessionID)
	} else {
		err = missing("the messages of a session")
	}
	if out.Messages == nil {
		out.Messages = []sdk.MessageWithParts{}
	}
	return out, err
}

// ask waits for permission. The host fills in the asking plugin and the arguments.
func (b *Broker) ask(ctx context.Context, c Caller, req sdk.PermissionRequest) (empty, error) {
	if req.Permission == "" {
		return empty{}, errors.New("bad request: permission: name the key to ask for")
	}
	req.SessionID, req.ID, req.Tool, req.Agent, req.Args = c.SessionID, "", nil, "", nil
	if c.Tool != nil {
		return empty{}, c.Tool.Ask(ctx, req)
	}
	host, err := able[sdk.Asker](b, "permission outside of a tool call")
	if err != nil {
		return empty{}, err
	}
	return empty{}, host.AskPermission(ctx, req)
}

// question asks the user, in the plugin's name.
func (b *Broker) question(ctx context.Context, c Caller, req guest.QuestionRequest) (out guest.QuestionAnswers, err error) {
	if len(req.Questions) == 0 {
		return out, errors.New("bad request: questions: missing")
	}
	for i := range req.Questions { // the user must know who asks; forms are of MCP servers, whose names they show
		q := &req.Questions[i]
		q.Question, q.Form = fmt.Sprintf("plugin %s: %s", b.opts.Plugin, q.Question), nil
		if strings.Contains(q.Question, "\n") { // which may push the name out of view
			q.Question += fmt.Sprintf("\n(plugin %s)", b.opts.Plugin)
		}
	}
	if asker, ok := c.Tool.(sdk.Questioner); ok {
		out.Answers, err = asker.Question(ctx, req.Questions)
	} else if asker, ok := b.bound().(sdk.UserQuestioner); ok {
		out.Answers, err = asker.AskUser(ctx, c.SessionID, req.Questions)
	} else {
		err = missing("questions to the user")
	}
	return out, err
}

// sample asks the user's model.
func (b *Broker) sample(ctx context.Context, c Caller, req sdk.SampleRequest) (result *sdk.SampleResult, err error) {
	req.SessionID = c.SessionID
	host, err := able[sdk.Sampler](b, "the model")
	if err != nil {
		return nil, err
	}
	return host.Sample(ctx, req)
}

// progress shows the progress of a tool call.
func (b *Broker) progress(_ context.Context, c Caller, req guest.ProgressRequest) (empty, error) {
	if c.Tool == nil {
		return empty{}, errors.New("only a tool call has progress to show")
	}
	c.Tool.Progress(req.Title, req.Metadata)
	return empty{}, nil
}

// signInNotice shows a line during a sign-in.
func (*Broker) signInNotice(_ context.Context, c Caller, req guest.SignInNotice) (empty, error) {
	c.User.Notice(req.Text)
	return empty{}, nil
}

// signInCode shows a code during a sign-in.
func (*Broker) signInCode(_ context.Context, c Caller, req guest.SignInCode) (empty, error) {
	c.User.Code(req.Address, req.Code)
	return empty{}, nil
}

// signInVisit asks the user to open an address during a sign-in.
func (*Broker) signInVisit(ctx context.Context, c Caller, req guest.SignInVisit) (out guest.SignInRedirect, err error) {
	out.Redirect, err = c.User.Visit(ctx, req.Address)
	return out, err
}

// bound returns the host; nil before Bind.
func (b *Broker) bound() sdk.Host {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.host
}

// able returns the host as T, or an error that names the missing ability.
func able[T any](b *Broker, ability string) (T, error) {
	host, ok := b.bound().(T)
	if !ok {
		return host, missing(ability)
	}
	return host, nil
}

// inSession returns an operation that runs only for the session of the current call.
func (b *Broker) inSession(o operation) operation {
	return operation{o.capability, func(ctx context.Context, c Caller, request []byte) (any, error) {
		var wanted guest.SessionRequest
		_ = json.Unmarshal(request, &wanted) // the operation reports errors
		switch {
		case wanted.SessionID != "" && wanted.SessionID != c.SessionID:
			return nil, &problem{guest.StatusDenied, fmt.Sprintf("plugin %q may reach only the session it is called for; no capability allows another", b.opts.Plugin)}
		case c.SessionID == "":
			return nil, errors.New("the plugin is not called for a session now; ask while answering a hook or a tool call")
		}
		return o.run(ctx, c, request)
	}}
}
