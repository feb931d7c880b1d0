package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// Hook is one handler of a plugin at a hook point. Build it with one of the On functions, then set what
// differs from the defaults.
type Hook struct {
	Point Point
	// Name tells the hooks of one plugin at one point apart. Default: the name of the point.
	Name string
	// Reads and Writes list the fields of the value, as JSON pointers in which * stands for any one
	// member. The hook is sent Reads alone and only its changes under Writes take effect. The empty
	// pointer stands for the whole value; it is what the On functions set. Input fields are always sent.
	Reads, Writes []string
	// Priority orders hooks at a point, lower first; default 0.
	Priority int
	// Before and After name plugins whose hooks at the same point and of the same priority come later,
	// or earlier. A plugin that is not there is ignored.
	Before, After []string
	OnError       OnError
	// Timeout bounds one call. Zero means DefaultHookTimeout; more than MaxHookTimeout is refused.
	Timeout time.Duration

	// Exactly one of the two is set: Handler for hooks in this process, Remote by carriers.
	Handler Handler
	Remote  RemoteHandler
}

// Handler runs a hook in this process.
type Handler interface {
	// Handle reads call.Input and changes call.Value in place. It may be called from many goroutines,
	// and must stop soon after ctx ends: what it does later has no effect. A panic is an error.
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
	// HandleRemote sends the call and returns the answer; Answer.Changes is how it changes the value. It
	// may be called from many goroutines and returns when ctx ends.
	HandleRemote(ctx context.Context, call *RemoteCall) (Answer, error)
}

// RemoteCall is one call of a hook as it goes over a wire.
type RemoteCall struct {
	Point Point           `json:"point"`
	Hook  string          `json:"hook"`
	Input json.RawMessage `json:"input"`
	Value json.RawMessage `json:"value,omitempty"` // the fields the hook reads
}

// Answer is what a hook gives back.
type Answer struct {
	// Changes are what a remote transform changed, in order. In-process handlers leave it nil: the engine
	// compares the value instead. Handlers of a guest may set it to save the comparison. Check has the bounds.
	Changes []Change `json:"changes,omitempty"`
	// Verdict is a gate's decision, or the refusal of a transform that may deny.
	Verdict Verdict `json:"verdict,omitempty"`
	Reason  string  `json:"reason,omitempty"`
	// Message is what the turn goes on with, for VerdictContinue.
	Message string `json:"message,omitempty"`
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

// transform adapts a typed handler. It is generic so that the table of points is written once; plugins
// call the On functions, which are not.
type transform[I, V any] func(ctx context.Context, in *I, v *V) error

// Handle calls the function with the types of its point.
func (f transform[I, V]) Handle(ctx context.Context, call *HookCall) (Answer, error) {
	err := f(ctx, call.Input.(*I), call.Value.(*V))
	var refusal *Refusal
	if errors.As(err, &refusal) {
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
