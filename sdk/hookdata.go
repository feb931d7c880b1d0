package sdk

import "encoding/json"

// The inputs and values of the hook points. A handler reads the input, which it must not change, and changes the value, its own copy, in
// place. It must not keep either after it returns.
type (
	// ConfigInput is the input at config.
	ConfigInput struct {
		Directory string `json:"directory"`
	}

	// SessionInput is the input at session.start and session.end.
	SessionInput struct {
		SessionID string  `json:"sessionID"`
		Session   Session `json:"session"`
	}

	// ChatMessageInput is the input at chat.message.
	ChatMessageInput struct {
		SessionID string   `json:"sessionID"`
		Agent     string   `json:"agent"`
		Model     ModelRef `json:"model"`
		MessageID string   `json:"messageID"`
	}
	// ChatMessageValue is the value at chat.message.
	ChatMessageValue struct {
		Message *UserMessage `json:"message"`
		Parts   Parts        `json:"parts"`
	}

	// CommandInput is the input at command.execute.before.
	CommandInput struct {
		Command   string `json:"command"`
		SessionID string `json:"sessionID"`
		Arguments string `json:"arguments"`
	}
	// CommandValue is the value at command.execute.before.
	CommandValue struct {
		Parts Parts `json:"parts"`
	}

	// ChatInput is the input of the points around a model request: chat.messages.transform,
	// chat.system.transform, chat.params and chat.headers.
	ChatInput struct {
		SessionID string       `json:"sessionID"`
		Agent     string       `json:"agent"`
		Model     Model        `json:"model"`
		Provider  ProviderRef  `json:"provider"`
		Message   *UserMessage `json:"message,omitempty"`
		Purpose   Purpose      `json:"purpose"`
		Step      int          `json:"step"` // of the turn, from 1; 0 for requests outside a turn
	}
	// ProviderRef names a provider without its options and keys.
	ProviderRef struct {
		ID       string `json:"id"`
		Name     string `json:"name"`
		Protocol string `json:"protocol"`
	}
	// ChatMessagesValue is the value at chat.messages.transform.
	ChatMessagesValue struct {
		Messages []MessageWithParts `json:"messages"`
	}
	// ChatSystemValue is the value at chat.system.transform.
	ChatSystemValue struct {
		System []string `json:"system"`
	}
	// ChatParams is the value at chat.params. The server decides parameters that are nil.
	ChatParams struct {
		Temperature     *float64 `json:"temperature,omitempty"`
		TopP            *float64 `json:"topP,omitempty"`
		TopK            *int     `json:"topK,omitempty"`
		MaxOutputTokens int64    `json:"maxOutputTokens,omitempty"`
		// Options are added to the request body, in addition to the fields of the protocol.
		Options Object `json:"options"`
	}
	// ChatHeadersValue is the value at chat.headers.
	ChatHeadersValue struct {
		Headers map[string]string `json:"headers"`
	}

	// ToolDefinitionInput is the input at tool.definition.
	ToolDefinitionInput struct {
		ToolID string `json:"toolID"`
		Origin Origin `json:"origin"`
	}
	// ToolDefinitionValue is the value at tool.definition.
	ToolDefinitionValue struct {
		Description string `json:"description"`
		Parameters  Object `json:"parameters"`
	}

	// ToolInput is the input at tool.execute.before.
	ToolInput struct {
		Tool      string `json:"tool"`
		Origin    Origin `json:"origin"`
		SessionID string `json:"sessionID"`
		MessageID string `json:"messageID"`
		CallID    string `json:"callID"`
		Agent     string `json:"agent"`
		// AgentPath names the agents from the main one down to Agent, joined by "/".
		AgentPath string `json:"agentPath"`
	}
	// ToolBeforeValue is the value at tool.execute.before.
	ToolBeforeValue struct {
		Args Object `json:"args"`
	}

	// ToolAfterInput is the input at tool.execute.after.
	ToolAfterInput struct {
		ToolInput
		Args    json.RawMessage `json:"args"`
		Outcome Outcome         `json:"outcome"`
	}
	// ToolAfterValue is the value at tool.execute.after. Output is the error's text when the outcome is
	// not OutcomeOK.
	ToolAfterValue struct {
		Title       string      `json:"title"`
		Output      string      `json:"output"`
		Metadata    Object      `json:"metadata"`
		Attachments []*FilePart `json:"attachments,omitempty"`
	}

	// ShellEnvInput is the input at shell.env.
	ShellEnvInput struct {
		Cwd       string `json:"cwd"`
		SessionID string `json:"sessionID,omitempty"`
		CallID    string `json:"callID,omitempty"`
	}
	// ShellEnvValue is the value at shell.env: variables to add to the command's environment. It starts empty; a hook does not see the
	// user's variables.
	ShellEnvValue struct {
		Env map[string]string `json:"env"`
	}

	// TextCompleteInput is the input at text.complete.
	TextCompleteInput struct {
		SessionID string `json:"sessionID"`
		MessageID string `json:"messageID"`
		PartID    string `json:"partID"`
	}
	// TextCompleteValue is the value at text.complete.
	TextCompleteValue struct {
		Text string `json:"text"`
	}

	// TurnStopInput is the input at turn.stop. Continued counts how often hooks have already continued the turn.
	TurnStopInput struct {
		SessionID string            `json:"sessionID"`
		Message   *AssistantMessage `json:"message"`
		Text      string            `json:"text"` // the answer
		Continued int               `json:"continued"`
	}

	// CompactingInput is the input at session.compacting.
	CompactingInput struct {
		SessionID string `json:"sessionID"`
	}
	// CompactingValue is the value at session.compacting. Context is added to the prompt. A Prompt that is not empty replaces it.
	CompactingValue struct {
		Context []string `json:"context"`
		Prompt  string   `json:"prompt,omitempty"`
	}

	// AutocontinueInput is the input at compaction.autocontinue.
	AutocontinueInput struct {
		SessionID string       `json:"sessionID"`
		Agent     string       `json:"agent"`
		Model     Model        `json:"model"`
		Provider  ProviderRef  `json:"provider"`
		Message   *UserMessage `json:"message,omitempty"`
		Overflow  bool         `json:"overflow"`
	}
	// AutocontinueValue is the value at compaction.autocontinue.
	AutocontinueValue struct {
		Enabled bool `json:"enabled"`
	}

	// SmallModelInput is the input at provider.small_model.
	SmallModelInput struct {
		Provider ProviderRef `json:"provider"`
	}
	// SmallModelValue is the value at provider.small_model.
	SmallModelValue struct {
		Model *ModelRef `json:"model,omitempty"`
	}
)

// Outcome is how a tool call ended.
type Outcome string

// The outcomes of a tool call.
const (
	OutcomeOK      Outcome = "ok"
	OutcomeError   Outcome = "error"
	OutcomeDenied  Outcome = "denied"
	OutcomeAborted Outcome = "aborted"
)
