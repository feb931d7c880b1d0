package input

import "github.com/tenonhq/tenon/sdk"

// Prompt is a prompt as sent by a client.
type Prompt struct {
	SessionID string `json:"sessionID"`
	// Text is the text that the user typed: @file, @dir/ and @agent in it are resolved. Parts are added unchanged, except that they get
	// identifiers.
	Text  string    `json:"text,omitempty"`
	Parts sdk.Parts `json:"parts"`
	// Command names a command whose template, filled with Text as its arguments, is the prompt.
	Command string `json:"command,omitempty"`

	Agent   string            `json:"agent,omitempty"`   // default: the session's, else the configured one
	Model   string            `json:"model,omitempty"`   // provider/model; default: the agent's, the session's, the configured one
	Variant string            `json:"variant,omitempty"` // of the model
	Format  *sdk.OutputFormat `json:"format,omitempty"`
	System  string            `json:"system,omitempty"`
	Tools   map[string]bool   `json:"tools,omitempty"`
	NoReply bool              `json:"noReply,omitempty"` // store it and do not ask the model
	// Shell reports that Text is a shell command. It runs as a call of the bash tool, permissions included; the prompt is the command and its
	// output. Use it with NoReply.
	Shell bool `json:"shell,omitempty"`
}
