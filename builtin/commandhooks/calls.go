package commandhooks

import (
	"encoding/json"
	"reflect"
	"sync"

	"github.com/tenonhq/tenon/sdk"
)

// maxCalls is the maximum number of tool calls kept, far more than run concurrently.
const maxCalls = 1024

// calls keeps the answers about tool calls until their permission requests and their end. It is safe for concurrent use.
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
	texts   []string        // for the model
}

// update changes the entry of a call.
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

// find returns the entry of a call.
func (c *calls) find(session, message, id string) call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byKey[callKey{session, message, id}]
}

// decision returns the decision of the commands at PreToolUse about the call of a permission request. It allows only the arguments that they
// saw: later hooks can have changed them.
func (c *calls) decision(r *sdk.PermissionRequest) sdk.Decision {
	if r.Tool == nil {
		return sdk.Decision{}
	}
	found := c.find(r.SessionID, r.Tool.MessageID, r.Tool.CallID)
	switch {
	case found.ask != "":
		return sdk.Decision{Verdict: sdk.VerdictAsk, Reason: found.ask}
	case found.allowed != nil && !sdk.Deliberate(r.Permission) && sameJSON(found.allowed, r.Args):
		return sdk.Decision{Verdict: sdk.VerdictAllow, Reason: found.reason}
	}
	return sdk.Decision{}
}

// sameJSON reports whether two objects are equal, whatever their formatting.
func sameJSON(a, b json.RawMessage) bool {
	var x, y sdk.Object
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
