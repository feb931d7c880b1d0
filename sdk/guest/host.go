package guest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/sdk"
)

// Status is the result of an operation of the host.
type Status int32

// The statuses.
const (
	StatusOK      Status = 0 // the answer is the operation's response
	StatusFailed  Status = 1 // the answer is the text of an error
	StatusDenied  Status = 2 // not granted; the answer names the missing grant
	StatusUnknown Status = 3 // the host does not have the operation
	StatusLimited Status = 4 // a quota, a rate or a size was exceeded; the answer names it
)

// String returns the name of the status.
func (s Status) String() string {
	names := [...]string{"ok", "failed", "denied", "unknown", "limited"}
	if s < 0 || int(s) >= len(names) {
		return fmt.Sprintf("status %d", int32(s))
	}
	return names[s]
}

// ErrLimited is wrapped by errors of operations that would exceed a quota, a rate or a size.
var ErrLimited = errors.New("limit of the host")

// Caller sends an operation to the host and returns the answer, which the caller owns. An error means that the host was not reached. It may be
// called concurrently.
type Caller func(ctx context.Context, op string, request []byte) (Status, []byte, error)

// Host is the host for a plugin outside its process: each ability is an operation over the wire.
//
// Errors wrap sdk.ErrNotGranted, ErrLimited, or errors.ErrUnsupported if the host does not have the operation.
type Host struct {
	start StartRequest
	log   *slog.Logger
	call  Caller
}

var (
	_ sdk.Host           = (*Host)(nil)
	_ sdk.ConfigReader   = (*Host)(nil)
	_ sdk.KeyValue       = (*Host)(nil)
	_ sdk.SecretReader   = (*Host)(nil)
	_ sdk.Fetcher        = (*Host)(nil)
	_ sdk.ToolCaller     = (*Host)(nil)
	_ sdk.SessionReader  = (*Host)(nil)
	_ sdk.Asker          = (*Host)(nil)
	_ sdk.UserQuestioner = (*Host)(nil)
	_ sdk.Sampler        = (*Host)(nil)
)

// NewHost returns the host that sent req.
func NewHost(req *StartRequest, log *slog.Logger, call Caller) *Host {
	return &Host{start: *req, log: log, call: call}
}

// Logger returns a logger that writes to the host.
func (h *Host) Logger() *slog.Logger { return h.log }

// Project returns the project of the host.
func (h *Host) Project() sdk.Project { return h.start.Project }

// Options returns the user's options for the plugin.
func (h *Host) Options() json.RawMessage {
	if len(h.start.Options) == 0 {
		return json.RawMessage("null")
	}
	return h.start.Options
}

// Config requests the configuration. If that fails, it logs the error and returns nil.
func (h *Host) Config() *sdk.Config {
	var config sdk.Config
	if err := h.call.do(Detached(), "config", struct{}{}, &config); err != nil {
		h.log.Warn("no configuration", "err", err)
		return nil
	}
	return &config
}

// Get requests the value of a key.
func (h *Host) Get(ctx context.Context, key string) (value []byte, found bool, err error) {
	var answer KVValue
	err = h.call.do(ctx, "kv.get", KVKey{key}, &answer)
	return answer.Value, answer.Found, err
}

// Set stores a value.
func (h *Host) Set(ctx context.Context, key string, value []byte) error {
	return h.call.do(ctx, "kv.set", KVSet{key, value}, nil)
}

// Delete removes a key.
func (h *Host) Delete(ctx context.Context, key string) error {
	return h.call.do(ctx, "kv.delete", KVKey{key}, nil)
}

// Keys lists the keys with a prefix.
func (h *Host) Keys(ctx context.Context, prefix string) ([]string, error) {
	var answer KVKeys
	err := h.call.do(ctx, "kv.keys", KVPrefix{prefix}, &answer)
	return answer.Keys, err
}

// Secret requests a secret.
func (h *Host) Secret(ctx context.Context, name string) (string, error) {
	var answer SecretValue
	err := h.call.do(ctx, "secret", SecretRequest{name}, &answer)
	return answer.Value, err
}

// Fetch has the host send an HTTP request.
func (h *Host) Fetch(ctx context.Context, req *sdk.FetchRequest) (*sdk.FetchResponse, error) {
	whole := *req
	whole.Stream = false
	return ask[sdk.FetchResponse](ctx, h.call, "http", whole)
}

// CallTool has the host call a tool.
func (h *Host) CallTool(ctx context.Context, req sdk.ToolRequest) (*sdk.ToolResult, error) {
	return ask[sdk.ToolResult](ctx, h.call, "tool", req)
}

// SessionMessages requests the messages of a session.
func (h *Host) SessionMessages(ctx context.Context, sessionID string) ([]sdk.MessageWithParts, error) {
	var answer SessionMessages
	err := h.call.do(ctx, "session", SessionRequest{sessionID}, &answer)
	return answer.Messages, err
}

// AskPermission requests permission. It returns a failure as a refusal, because permission is not granted.
func (h *Host) AskPermission(ctx context.Context, req sdk.PermissionRequest) error {
	err := h.call.do(ctx, "ask", req, nil)
	if failed, ok := errors.AsType[*failure](err); ok {
		return &sdk.Refusal{Reason: failed.text}
	}
	return err
}

// AskUser asks the user.
func (h *Host) AskUser(ctx context.Context, sessionID string, questions []sdk.Question) ([][]string, error) {
	var answer QuestionAnswers
	err := h.call.do(ctx, "question", QuestionRequest{sessionID, questions}, &answer)
	return answer.Answers, err
}

// Sample sends a request to the user's model.
func (h *Host) Sample(ctx context.Context, req sdk.SampleRequest) (*sdk.SampleResult, error) {
	return ask[sdk.SampleResult](ctx, h.call, "sample", req)
}

// NewToolHost returns the host of one tool call. call must send requests as part of that call.
func NewToolHost(call Caller, log *slog.Logger) sdk.ToolHost {
	return newToolHost(call, &Side{Log: log})
}

func newToolHost(call Caller, host *Side) *toolHost {
	show := host.Progress
	if show == nil {
		show = func(title string, metadata sdk.Object) error {
			return call.do(Detached(), "progress", ProgressRequest{title, metadata}, nil)
		}
	}
	return &toolHost{&Host{log: host.Log, call: call}, show}
}

type toolHost struct {
	host *Host
	show func(title string, metadata sdk.Object) error
}

var (
	_ sdk.ToolHost      = (*toolHost)(nil)
	_ sdk.Questioner    = (*toolHost)(nil)
	_ sdk.MessageReader = (*toolHost)(nil)
)

// Progress shows the progress of the call. A failure is only logged.
func (t *toolHost) Progress(title string, metadata sdk.Object) {
	if err := t.show(title, metadata); err != nil {
		t.host.log.Debug("progress not shown", "err", err)
	}
}

// Ask requests permission.
func (t *toolHost) Ask(ctx context.Context, req sdk.PermissionRequest) error {
	return t.host.AskPermission(ctx, req)
}

// Question asks the user.
func (t *toolHost) Question(ctx context.Context, questions []sdk.Question) ([][]string, error) {
	return t.host.AskUser(ctx, "", questions)
}

// Messages requests the messages of the call's session.
func (t *toolHost) Messages(ctx context.Context) ([]sdk.MessageWithParts, error) {
	return t.host.SessionMessages(ctx, "")
}

func ask[T any](ctx context.Context, call Caller, op string, request any) (*T, error) {
	answer := new(T)
	if err := call.do(ctx, op, request, answer); err != nil {
		return nil, err
	}
	return answer, nil
}

// failure is the error of a failed operation.
type failure struct{ op, text string }

// Error names the operation and the reason.
func (f *failure) Error() string { return f.op + ": " + f.text }

// with returns a caller that sends the token of a call, whatever the context. A wire without tokens ignores it.
func (c Caller) with(token string) Caller {
	return func(ctx context.Context, op string, request []byte) (Status, []byte, error) {
		return c(WithToken(ctx, token), op, request)
	}
}

// do sends an operation and decodes the answer into response, which may be nil.
func (c Caller) do(ctx context.Context, op string, request, response any) error {
	body, err := jsontext.Marshal(request)
	if err != nil {
		return fmt.Errorf("%s: encode the request: %w", op, err)
	}
	status, answer, err := c(ctx, op, body)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	answer = bytes.TrimPrefix(answer, []byte(op+": ")) // the host's errors begin with the operation, too
	switch status {
	case StatusOK:
	case StatusFailed:
		return &failure{op, string(answer)}
	case StatusDenied:
		return fmt.Errorf("%s: %w: %s", op, sdk.ErrNotGranted, answer)
	case StatusLimited:
		return fmt.Errorf("%s: %w: %s", op, ErrLimited, answer)
	case StatusUnknown:
		return fmt.Errorf("%s: the host has no such operation: %w", op, errors.ErrUnsupported)
	default:
		return fmt.Errorf("%s: unknown status %d: %s", op, status, answer)
	}
	if response == nil {
		return nil
	}
	if err := json.Unmarshal(answer, response); err != nil {
		return fmt.Errorf("%s: answer of the host: %w", op, err)
	}
	return nil
}
