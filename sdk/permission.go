package sdk

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/tenonhq/tenon/internal/value"
)

// Action is what a permission rule, or a gate, decides.
type Action string

// The actions of a rule.
const (
	ActionAllow Action = "allow"
	ActionAsk   Action = "ask"
	ActionDeny  Action = "deny"
)

// Permission keys that are no tool.
const (
	PermissionExternalDirectory = "external_directory"
	PermissionDoomLoop          = "doom_loop"
	PermissionUnconfined        = "unconfined" // a command runs outside of the sandbox
)

// Deliberate reports whether a permission key is one that nothing grants in passing: no --auto, no hook that allows a tool.
func Deliberate(permission string) bool {
	return permission == PermissionDoomLoop || permission == PermissionUnconfined
}

// PermissionRule allows, asks for or denies what matches both patterns. In a pattern * stands for any
// characters, / and newline among them, and ? for one.
type PermissionRule struct {
	Permission string `json:"permission"`
	Pattern    string `json:"pattern"`
	Action     Action `json:"action"`
	// Origin says where the rule was written ("/home/a/tenon.json:12"); empty for rules made at run time.
	Origin string `json:"origin,omitempty"`
	// Held marks a rule that allows in a file which the user has not approved. Until then its action is ask.
	Held bool `json:"-"`
}

// PermissionRules is an ordered list of rules of which the last that matches decides. It reads three forms: an
// action ("ask"), a map of keys to actions or of keys to maps of patterns to actions, in which the order
// of the keys counts, and the plain list, which is also the form it is written in.
type PermissionRules []PermissionRule

// UnmarshalJSON reads any of the three forms. Errors wrap ErrWire.
func (r *PermissionRules) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	*r = nil
	if len(data) == 0 || bytes.Equal(data, []byte("null")) {
		return nil
	}
	switch data[0] {
	case '"':
		action, err := decodeAction(data)
		*r = PermissionRules{{Permission: "*", Pattern: "*", Action: action}}
		return err
	case '[':
		type plain PermissionRules
		return json.Unmarshal(data, (*plain)(r))
	case '{':
		return orderedFields(data, func(key string, value json.RawMessage) error {
			rules, err := decodePatterns(key, value)
			*r = append(*r, rules...)
			return err
		})
	}
	return fmt.Errorf("%w: permission: want an action, a map or a list, have %.40q", ErrWire, data)
}

func decodePatterns(key string, value json.RawMessage) (PermissionRules, error) {
	if value[0] != '{' {
		action, err := decodeAction(value)
		if err != nil {
			return nil, fmt.Errorf("permission %q: %w", key, err)
		}
		return PermissionRules{{Permission: key, Pattern: "*", Action: action}}, nil
	}
	var rules PermissionRules
	err := orderedFields(value, func(pattern string, value json.RawMessage) error {
		action, err := decodeAction(value)
		if err != nil {
			return fmt.Errorf("permission %q, pattern %q: %w", key, pattern, err)
		}
		rules = append(rules, PermissionRule{Permission: key, Pattern: pattern, Action: action})
		return nil
	})
	return rules, err
}

func decodeAction(data []byte) (Action, error) {
	var a Action
	if err := json.Unmarshal(data, &a); err != nil {
		return "", fmt.Errorf("%w: want allow, ask or deny, have %.40q", ErrWire, data)
	}
	switch a {
	case ActionAllow, ActionAsk, ActionDeny:
		return a, nil
	}
	return "", fmt.Errorf("%w: want allow, ask or deny, have %q", ErrWire, a)
}

// orderedFields calls f for each field of the object in data in the order they are written.
func orderedFields(data []byte, f func(key string, raw json.RawMessage) error) error {
	if !json.Valid(data) {
		return fmt.Errorf("%w: not JSON: %.40q", ErrWire, data)
	}
	var err error
	value.EachField(data, func(key, raw []byte) bool {
		err = f(value.Unquote(key), raw)
		return err == nil
	})
	return err
}

// PermissionRequest is what a tool call needs leave for. All Patterns must be allowed.
type PermissionRequest struct {
	ID         string   `json:"id"`
	SessionID  string   `json:"sessionID"`
	Permission string   `json:"permission"` // the key that rules name: read, edit, bash, a tool's id, …
	Patterns   []string `json:"patterns"`   // what is to be touched: paths, commands, URLs
	// Always holds the patterns that an answer "always" would allow from then on.
	Always   []string `json:"always"`
	Metadata Object   `json:"metadata"` // for the user's eyes: a diff, a description
	Tool     *CallRef `json:"tool,omitempty"`
	// Agent and Args let a gate judge who asks and what exactly would run.
	Agent string          `json:"agent,omitempty"`
	Args  json.RawMessage `json:"args,omitempty"`
	// Implied is what granting the request grants as well, without asking for it: a command that writes a
	// file edits it. A rule that denies it holds, and one that asks for it by name, by a pattern other than *.
	Implied []ImpliedPermission `json:"-"`
	// Verbatim says why Patterns is a text that is shown whole, because not all of what it does is known; empty: it is known. Only a rule
	// with the pattern * allows such a text, and only while no rule for the same permission denies or asks for anything by name.
	Verbatim string `json:"-"`
}

// AnyFile is the pattern of an ImpliedPermission for a file that is not known: rules that deny any file by name count.
const AnyFile = ""

// ImpliedPermission is something that a request includes. Maybe is set if it may include it: a rule that denies it then asks.
type ImpliedPermission struct {
	Permission, Pattern string
	Maybe               bool
}

// CallRef points at the tool call of a message.
type CallRef struct {
	MessageID string `json:"messageID"`
	CallID    string `json:"callID"`
}

// Reply is the user's answer to a permission request.
type Reply string

// The answers of a user.
const (
	ReplyOnce   Reply = "once"
	ReplyAlways Reply = "always"
	ReplyReject Reply = "reject"
)

// Question is one question to the user.
type Question struct {
	Question string           `json:"question"`
	Header   string           `json:"header"` // a few words, at most 30 characters
	Options  []QuestionOption `json:"options"`
	Multiple bool             `json:"multiple,omitempty"` // several options may be chosen
	Custom   *bool            `json:"custom,omitempty"`   // free text is allowed; default true
}

// QuestionOption is one of the answers offered.
type QuestionOption struct {
	Label       string `json:"label"`
	Description string `json:"description"`
}

// QuestionRequest asks the user one or more questions.
type QuestionRequest struct {
	ID        string     `json:"id"`
	SessionID string     `json:"sessionID"`
	Questions []Question `json:"questions"`
	Tool      *CallRef   `json:"tool,omitempty"`
}
