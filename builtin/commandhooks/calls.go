package commandhooks

import (
	"encoding/json"
	"reflect"
	"sync"

	"github.com/tenonhq/tenon/sdk"
)

// maxCalls is the maximum number of tool calls kept, far more than run concurrently.
const maxCalls = 1024

// calls keeps the decisions about tool calls until their permission requests. It is safe for concurrent use.
type calls struct {
	mu    sync.Mutex
	byKey map[callKey]call
	order []callKey // oldest first
}

type callKey struct{ session, message, call string }

// call is a tool call between tool.execute.before and its permissions.
type call struct {
	ask     string          // reason to ask the user; empty if no command requested it
	allowed json.RawMessage // the arguments that a command allowed; nil if none did
	reason  string          // reason of allowed
}

// update changes the entry of a call, which it creates if necessary.
func (c *calls) update(in *sdk.ToolInput, change func(*call)) {
	key := callKey{in.SessionID, in.MessageID, in.CallID}
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.byKey[key]
	if !ok {
		if len(c.order) == maxCalls {
			delete(c.byKey, c.order[0])
			c.order = c.order[1:]
		}
		c.order = append(c.order, key)
	}
	change(&found)
	c.byKey[key] = found
}

// find returns the call of a permission request; the zero value if nothing was decided about it.
func (c *calls) find(r *sdk.PermissionRequest) call {
	if r.Tool == nil {
		return call{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byKey[callKey{r.SessionID, r.Tool.MessageID, r.Tool.CallID}]
}

// decision returns the decision of the commands at PreToolUse. It allows only the arguments that they saw: later hooks can have
// changed them.
func (c *call) decision(r *sdk.PermissionRequest) sdk.Decision {
	switch {
	case c.ask != "":
		return sdk.Decision{Verdict: sdk.VerdictAsk, Reason: c.ask}
	case c.allowed != nil && !sdk.Deliberate(r.Permission) && sameJSON(c.allowed, r.Args):
		return sdk.Decision{Verdict: sdk.VerdictAllow, Reason: c.reason}
	}
	return sdk.Decision{}
}

// sameJSON reports whether two objects are equal, whatever their formatting.
func sameJSON(a, b json.RawMessage) bool {
	var x, y sdk.Object
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
