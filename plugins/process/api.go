package process

import (
	"context"
	"encoding/json"

	"github.com/tenonhq/tenon/sdk/guest"
	"github.com/tenonhq/tenon/sdk/process/tenonv1"
)

// api calls a process over one of the wires. Its methods and their parameters are those of the line protocol, see docs/process-protocol.md.
type api interface {
	// call makes a call and returns its result. notify receives the notifications before the result; it may be nil. Errors: those that the
	// plugin reported (*sdk.Refusal, *sdk.ProviderError or a text), the error of notify, errors for instance.explain.
	call(ctx context.Context, r *request, notify func(*note) error) (json.RawMessage, error)
	// hooks prepares the calls of hooks. Its goroutines end with ctx; in.inside waits for them.
	hooks(ctx context.Context, in *instance) error
	// begin calls a hook and sets the request's ID; hooks has returned before. take receives the answer; it must not wait. begin may wait some
	// milliseconds for the answer. sent is false if ctx or the process ended before the process can have received the whole request.
	begin(ctx context.Context, req *tenonv1.HookRequest, take func(*tenonv1.HookResponse)) (sent bool)
	// cancel notifies the process that the host no longer waits for a hook. It does not block.
	cancel(id uint64)
	// host passes the requests of the process to take, one after the other, until ctx or the process ends. in.inside waits for its goroutines.
	host(ctx context.Context, in *instance, take func(*tenonv1.HostRequest)) error
	// respond sends an answer to a request, or an event.
	respond(r *tenonv1.HostResponse) error
}

// request is a call of a process, except that of a hook.
type request struct {
	guest.Request
	timeout uint32          // milliseconds
	grants  json.RawMessage // of start
	host    string          // of start
}

// note is a notification of a call: progress of a tool, or an event of a model's answer.
type note struct {
	Title    string          `json:"title"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
	Event    json.RawMessage `json:"event,omitempty"`
}

// noMessage is the text of a failure that the plugin reported without one.
const noMessage = "the plugin failed without a message"
