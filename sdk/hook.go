package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// Hook is one handler of a plugin at a hook point. Build it with one of the On functions, then change fields if the defaults do not fit.
type Hook struct {
	Point Point
	// Name distinguishes several hooks of a plugin at one point. Default: the name of the point.
	Name string
	// Reads and Writes list fields of the value, as JSON pointers in which * matches any one member. The hook receives only Reads, and
	// only its changes under Writes take effect. The empty pointer is the whole value; the On functions set it. The input is always
	// sent whole.
	Reads, Writes []string
	// Priority orders hooks at a point, lower first; default 0.
	Priority int
	// Before and After name plugins whose hooks at the same point, with the same priority, run later or earlier. Unknown names are
	// ignored.
	Before, After []string
	OnError       OnError
	// Timeout bounds one call. Zero means DefaultHookTimeout. Values above MaxHookTimeout are refused.
	Timeout time.Duration

	// Exactly one of the two is set: Handler for a hook in this process, Remote (by the carrier) for a hook outside it.
	Handler Handler
	Remote  RemoteHandler
}

// Reading returns the hook with these Reads.
func (h Hook) Reading(fields ...string) Hook {
	h.Reads = fields
	return h
}

// Writing returns the hook with these Writes. A field such as /system/- permits only to append.
func (h Hook) Writing(fields ...string) Hook {
	h.Writes = fields
	return h
}

// OnError is the policy for a hook that fails.
type OnError string

// The failure policies. The zero value is the default of the point: deny for gates, skip for others.
const (
	OnErrorDefault OnError = ""
	OnErrorSkip    OnError = "skip" // continue without the hook, with a notice to the user
	OnErrorDeny    OnError = "deny" // the gate denies
	OnErrorStop    OnError = "stop" // the turn ends with an error
)

// DefaultHookTimeout bounds one hook call unless the manifest or the configuration sets another limit.
const DefaultHookTimeout = 2 * time.Second

// MaxHookTimeout is the longest timeout of a hook.
const MaxHookTimeout = 60 * time.Second

// Handler runs a hook in this process.
type Handler interface {
	// Handle reads call.Input and changes call.Value in place. It may be called concurrently. It must return soon after ctx ends; later
	// changes have no effect. A panic counts as an error.
	Handle(ctx context.Context, call *HookCall) (Answer, error)
}

// HookCall is one call of a handler in this process.
type HookCall struct {
	Point Point
	Input any // pointer to the input type of the point; must not be changed
	Value any // pointer to the value type of the point, the handler's own copy; nil without a value
}

// RemoteHandler runs a hook outside this process.
type RemoteHandler interface {
	// HandleRemote sends the call and returns the answer; Answer.Changes are its changes of the value. It may be called concurrently and
	// returns when ctx ends.
	HandleRemote(ctx context.Context, call *RemoteCall) (Answer, error)
}

// RemoteCall is one call of a hook in the form that carriers send.
type RemoteCall struct {
	Point Point           `json:"point"`
	Hook  string          `json:"hook"`
	Input json.RawMessage `json:"input"`
	Value json.RawMessage `json:"value,omitempty"` // the fields the hook reads
}

// Answer is the result of a hook.
type Answer struct {
	// Changes are the changes of a remote transform, in order. Handlers in this process leave it nil: the engine compares the value
	// instead. Handlers of a guest may set it to avoid the comparison.
	Changes []Change `json:"changes,omitempty"`
	// Verdict is the decision of a gate, or the refusal of a transform that may deny.
	Verdict Verdict `json:"verdict,omitempty"`
	Reason  string  `json:"reason,omitempty"`
	// Message continues the turn, for VerdictContinue.
	Message string `json:"message,omitempty"`
}

// Change is one change of a value: the new JSON at a pointer (RFC 6901). An index one past the end of an array appends, and so
// does -.
type Change struct {
	Pointer string          `json:"pointer"`
	Value   json.RawMessage `json:"value,omitempty"`
	Remove  bool            `json:"remove,omitempty"` // removes the member; Value is empty
}

// Verdict is the decision of a gate, or of a transform that may deny.
type Verdict string

// The verdicts. The zero value abstains.
const (
	VerdictAbstain  Verdict = ""
	VerdictAllow    Verdict = "allow"
	VerdictAsk      Verdict = "ask"
	VerdictDeny     Verdict = "deny"     // refuses one tool call; the model may try another way
	VerdictHalt     Verdict = "halt"     // stops the turn; the user takes over
	VerdictContinue Verdict = "continue" // turn.stop: continue with a message
)

// Decision is the answer of a gate.
type Decision struct {
	Verdict Verdict
	Reason  string
}

// StopDecision is the answer of a hook at turn.stop. The zero value lets the turn stop.
type StopDecision struct {
	Continue bool
	Message  string // sent as the next user message; required to continue
	Reason   string
}

func newHook(p Point, h Handler) Hook {
	return Hook{Point: p, Name: string(p), Reads: []string{""}, Writes: []string{""}, Handler: h}
}

// transform adapts a typed handler. It is generic to avoid an adapter for each point; plugins call the On functions, which are not generic.
type transform[I, V any] func(ctx context.Context, in *I, v *V) error

// Handle calls the function with the types of its point.
func (f transform[I, V]) Handle(ctx context.Context, call *HookCall) (Answer, error) {
	err := f(ctx, call.Input.(*I), call.Value.(*V))
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		verdict := VerdictDeny
		if refusal.Halt {
			verdict = VerdictHalt
		}
		return Answer{Verdict: verdict, Reason: refusal.Reason}, nil
	}
	return Answer{}, err
}

type observe[I any] func(ctx context.Context, in *I) error

// Handle calls the function with the type of its point.
func (f observe[I]) Handle(ctx context.Context, call *HookCall) (Answer, error) {
	return Answer{}, f(ctx, call.Input.(*I))
}

type permissionGate func(ctx context.Context, in *PermissionRequest) (Decision, error)

// Handle calls the gate.
func (f permissionGate) Handle(ctx context.Context, call *HookCall) (Answer, error) {
	d, err := f(ctx, call.Input.(*PermissionRequest))
	return Answer{Verdict: d.Verdict, Reason: d.Reason}, err
}

type stopGate func(ctx context.Context, in *TurnStopInput) (StopDecision, error)

// Handle calls the gate.
func (f stopGate) Handle(ctx context.Context, call *HookCall) (Answer, error) {
	d, err := f(ctx, call.Input.(*TurnStopInput))
	if err != nil || !d.Continue {
		return Answer{Verdict: VerdictAllow, Reason: d.Reason}, err
	}
	return Answer{Verdict: VerdictContinue, Reason: d.Reason, Message: d.Message}, nil
}
