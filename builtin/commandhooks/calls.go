package commandhooks

import (
	"encoding/json"
	"reflect"
	"sync"

	"github.com/tenonhq/tenon/sdk"
)

// calls keeps the answers about tool calls until tool.execute.after, which a call reaches unless a hook before it stops the turn. It is safe for
// concurrent use.
type calls struct {
	mu    sync.Mutex
	byKey map[callKey]call
}

type callKey struct{ session, message, call string }

// call is what the commands at PreToolUse answered about a tool call.
type call struct {
	ask     string          // reason to ask the user; empty if no command requested it
	allowed json.RawMessage // the arguments that a command allowed; nil if none did
	reason  string          // reason of allowed
	texts   []string        // for the model
}

// update changes the entry of a call.
func (c *calls) update(in *sdk.ToolInput, change func(*call)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := callKey{in.SessionID, in.MessageID, in.CallID}
	found := c.byKey[key]
	change(&found)
	c.byKey[key] = found
}

// end removes the entry of a call and returns its texts.
func (c *calls) end(in *sdk.ToolInput) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := callKey{in.SessionID, in.MessageID, in.CallID}
	defer delete(c.byKey, key)
	return c.byKey[key].texts
}

// decision returns the decision of the commands at PreToolUse about the call of a permission request. It allows only the arguments that they
// saw: later hooks can have changed them.
func (c *calls) decision(r *sdk.PermissionRequest) sdk.Decision {
	if r.Tool == nil {
		return sdk.Decision{}
	}
	c.mu.Lock()
	found := c.byKey[callKey{r.SessionID, r.Tool.MessageID, r.Tool.CallID}]
	c.mu.Unlock()
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
