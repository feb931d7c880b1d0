package commandhooks

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"

	"github.com/tenonhq/tenon/sdk"
)

// maxCalls bounds how many tool calls are remembered: far more than ever run side by side.
const maxCalls = 1024

// calls remembers what was decided about tool calls before they ask for leave. Safe for use from many goroutines; the zero value is
// ready.
type calls struct {
	mu    sync.Mutex
	byKey map[callKey]*call
	order []callKey // oldest first
}

type callKey struct{ session, message, call string }

// call is a tool call between tool.execute.before and its permissions.
type call struct {
	tool    string
	origin  sdk.Origin
	ask     string          // why the user is to be asked; empty: no command wants that
	allowed json.RawMessage // the arguments a command allowed; nil: none did
	reason  string          // of that
}

func (c *calls) begin(in *sdk.ToolInput) {
	c.update(in, func(*call) {})
}

// update changes what is known of a call.
func (c *calls) update(in *sdk.ToolInput, change func(*call)) {
	key := callKey{in.SessionID, in.MessageID, in.CallID}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey == nil {
		c.byKey = map[callKey]*call{}
	}
	if c.byKey[key] == nil {
		if len(c.order) == maxCalls {
			delete(c.byKey, c.order[0])
			c.order = slices.Delete(c.order, 0, 1)
		}
		c.byKey[key] = &call{tool: in.Tool, origin: in.Origin}
		c.order = append(c.order, key)
	}
	change(c.byKey[key])
}

// find returns what is known of the call a permission is asked for.
func (c *calls) find(r *sdk.PermissionRequest) (call, bool) {
	if r.Tool == nil {
		return call{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.byKey[callKey{r.SessionID, r.Tool.MessageID, r.Tool.CallID}]
	if !ok {
		return call{}, false
	}
	return *found, true
}

// decision is what commands at PreToolUse said about the call. Leave holds for the arguments they saw alone: a hook that came later
// may have changed them.
func (c *call) decision(r *sdk.PermissionRequest) sdk.Decision {
	switch {
	case c.ask != "":
		return sdk.Decision{Verdict: sdk.VerdictAsk, Reason: c.ask}
	case c.allowed != nil && !sdk.Deliberate(r.Permission) && sameJSON(c.allowed, r.Args):
		return sdk.Decision{Verdict: sdk.VerdictAllow, Reason: c.reason}
	}
	return sdk.Decision{}
}

// sameJSON compares two objects by what they say.
func sameJSON(a, b json.RawMessage) bool {
	var one, other sdk.Object
	if json.Unmarshal(a, &one) != nil || json.Unmarshal(b, &other) != nil {
		return false
	}
	x, err := json.Marshal(one)
	if err != nil {
		return false
	}
	y, err := json.Marshal(other)
	return err == nil && bytes.Equal(x, y)
}
