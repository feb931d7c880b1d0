package sdk

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/tenonhq/tenon/internal/jsontext"
)

// Action is the decision of a permission rule.
type Action string

// The actions of a rule.
const (
	ActionAllow Action = "allow"
	ActionAsk   Action = "ask"
	ActionDeny  Action = "deny"
)

// Permission keys that are not tools.
const (
	PermissionExternalDirectory = "external_directory"
	PermissionDoomLoop          = "doom_loop"
	PermissionUnconfined        = "unconfined" // a command runs outside of the sandbox
)

// Deliberate reports whether a permission key requires an explicit grant: neither --auto nor a hook that allows a tool grants it.
func Deliberate(permission string) bool {
	return permission == PermissionDoomLoop || permission == PermissionUnconfined
}

// PermissionRule allows, asks for or denies requests that match both patterns. In a pattern, * matches any characters, including / and
// newline, and ? matches one.
type PermissionRule struct {
	Permission string `json:"permission"`
	Pattern    string `json:"pattern"`
	Action     Action `json:"action"`
	// Origin is the place of the rule ("/home/a/tenon.json:12"); empty for rules made at run time.
	Origin string `json:"origin,omitempty"`
	// Digest is the SHA-256 of the file of Origin as it was read, in hexadecimal; empty if unknown.
	Digest string `json:"-"`
	// Held marks an allow rule in a file that the user has not approved. Until the approval, its action is ask.
	Held bool `json:"-"`
}

// PermissionRules is an ordered list of rules; the last match decides. It decodes three forms: an action ("ask"); a map of keys to actions,
// or of keys to maps of patterns to actions, in which the order of the keys counts; and the list itself. It is encoded as a list.
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
	jsontext.EachField(data, func(key, raw []byte) bool {
		err = f(jsontext.Name(key), raw)
		return err == nil
	})
	return err
}

// PermissionRequest is a permission that a tool call requires. All Patterns must be allowed.
type PermissionRequest struct {
	ID         string   `json:"id"`
	SessionID  string   `json:"sessionID"`
	Permission string   `json:"permission"` // the key that rules name: read, edit, bash, a tool's id, …
	Patterns   []string `json:"patterns"`   // paths, commands or URLs
	// Always holds the patterns that the answer "always" allows permanently.
	Always   []string `json:"always"`
	Metadata Object   `json:"metadata"` // shown to the user: a diff, a description
	Tool     *CallRef `json:"tool,omitempty"`
	// Agent and Args are for gates: the agent that makes the call, and its exact arguments.
	Agent string          `json:"agent,omitempty"`
	Args  json.RawMessage `json:"args,omitempty"`
	// Implied lists permissions that are granted with the request: a command that writes a file edits it. Deny rules for them apply, and
	// ask rules with another pattern than *.
	Implied []ImpliedPermission `json:"-"`
	// Verbatim is the reason why the effects of Patterns are not fully known, so that the text is shown whole. Empty if they are known. Only
	// a rule with the pattern * allows such a text, and only if no rule for the same permission denies or asks for another pattern.
	Verbatim string `json:"-"`
	// Agreed is shared by the requests of a call that the first of them shows to the user. Once he grants one of them, the later ones are granted,
	// unless a rule or a gate wants an answer about one. Nil: each is judged alone.
	Agreed *bool `json:"-"`
}

// AnyFile is the pattern of an ImpliedPermission for an unknown file. Every rule that denies a file by name applies.
const AnyFile = ""

// ImpliedPermission is a permission that a request includes. If Maybe is set, a rule that denies it asks the user instead.
type ImpliedPermission struct {
	Permission, Pattern string
	Maybe               bool
}

// CallRef identifies a tool call of a message.
type CallRef struct {
	MessageID string `json:"messageID"`
	CallID    string `json:"callID"`
	// ID and Origin are those of the tool, in a permission request. Origin is empty for an unknown tool.
	ID     string `json:"id,omitempty"`
	Origin Origin `json:"origin,omitzero"`
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
	Optional bool             `json:"optional,omitempty"` // may be left without an answer
	Default  []string         `json:"default,omitempty"`  // the answer that is assumed without one
	Form     *FormField       `json:"form,omitempty"`     // set if the question is a field of a form
}

// FormField has the parts of a form's question, for user interfaces that show them separately; Question has them as one text. In answers to a
// form, an empty text leaves the field empty even if it has a default, and an empty list of answers declines the form.
type FormField struct {
	Message string   `json:"message"`           // of the form; the same in all fields
	Label   string   `json:"label,omitempty"`   // name of the field
	Note    string   `json:"note,omitempty"`    // describes the field and its valid values
	URL     string   `json:"url,omitempty"`     // the user is asked to open this address: the options are Yes and No
	Answer  []string `json:"answer,omitempty"`  // the last answer, if it was invalid
	Problem string   `json:"problem,omitempty"` // why the last answer is invalid
}

// QuestionOption is one of the suggested answers.
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
