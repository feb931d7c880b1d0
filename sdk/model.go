package sdk

import "encoding/json"

// ProviderInfo describes a provider: how to reach it and which models it has. It is what a plugin
// contributes as a catalog and what "provider" in the configuration extends or adds.
type ProviderInfo struct {
	ID       string   `json:"id"`
	Name     string   `json:"name"`
	Env      []string `json:"env,omitempty"` // environment variables that may hold the key, the first that is set wins
	Protocol string   `json:"protocol"`      // the wire protocol, by the name a plugin registered
	// BaseURL is where the API is, without a trailing slash.
	BaseURL string            `json:"baseURL,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Options Object            `json:"options,omitempty"` // what else the protocol understands
	// Local marks a server on this machine that needs no key and is found by asking it for its models.
	Local bool `json:"local,omitempty"`
	// Default and Small name the models to use when the user named none.
	Default string           `json:"default,omitempty"`
	Small   string           `json:"small,omitempty"`
	Models  map[string]Model `json:"models,omitempty"`
	// Key is the API key. It is never encoded.
	Key string `json:"-"`
}

// Model describes a model.
type Model struct {
	ID         string `json:"id"`
	ProviderID string `json:"providerID"`
	// APIID is the name the server knows the model by, when it is not ID.
	APIID       string            `json:"apiID,omitempty"`
	Name        string            `json:"name"`
	Limit       ModelLimit        `json:"limit"`
	Cost        ModelCost         `json:"cost"`
	Reasoning   bool              `json:"reasoning,omitempty"`   // it reasons before it answers
	Temperature bool              `json:"temperature,omitempty"` // it takes a temperature
	ToolCall    bool              `json:"tool_call,omitempty"`   // it calls tools
	Attachment  bool              `json:"attachment,omitempty"`  // it takes files
	Modalities  Modalities        `json:"modalities"`
	Status      string            `json:"status,omitempty"` // alpha, beta, deprecated or empty
	Options     Object            `json:"options,omitempty"`
	Headers     map[string]string `json:"headers,omitempty"`
	Variants    map[string]Object `json:"variants,omitempty"` // named sets of options, such as reasoning efforts
}

// ModelLimit holds a model's limits in tokens. Zero means unknown, and no check is made.
type ModelLimit struct {
	Context int64 `json:"context"`         // tokens of prompt and answer together
	Input   int64 `json:"input,omitempty"` // tokens of the prompt
	Output  int64 `json:"output"`          // tokens of the answer
}

// ModelCost holds a model's prices. Zero means free or unknown.
type ModelCost struct {
	Input      Price `json:"input"`                 // in dollars per million tokens, as all prices here
	Output     Price `json:"output"`                // reasoning tokens too
	CacheRead  Price `json:"cache_read,omitempty"`  // of input that the server had cached
	CacheWrite Price `json:"cache_write,omitempty"` // of input that it caches
	// Over200K replaces the prices of a request whose prompt has more than 200,000 tokens.
	Over200K *ModelCost `json:"context_over_200k,omitempty"`
}

// Modalities lists what a model takes and gives: text, image, pdf, audio, video.
type Modalities struct {
	Input  []string `json:"input,omitempty"`  // such as text, image, pdf
	Output []string `json:"output,omitempty"` // such as text
}

// Ref returns the reference of the model.
func (m *Model) Ref() ModelRef { return ModelRef{ProviderID: m.ProviderID, ModelID: m.ID} }

// Purpose tells why a model is asked.
type Purpose string

// The purposes of a model request.
const (
	PurposeTurn       Purpose = "turn"       // the user's turn
	PurposeTitle      Purpose = "title"      // a title for the session
	PurposeCompaction Purpose = "compaction" // a summary of the conversation
	PurposeSubtask    Purpose = "subtask"    // a subagent's turn
	PurposeSampling   Purpose = "sampling"   // a plugin asks the user's model
)

// ModelRequest is one request to a model in neutral form. The provider must not change it.
type ModelRequest struct {
	Model      Model             `json:"model"`
	SessionID  string            `json:"sessionID"`
	Purpose    Purpose           `json:"purpose"`
	System     []string          `json:"system,omitempty"`
	Messages   []ModelMessage    `json:"messages"`
	Tools      []ToolDefinition  `json:"tools,omitempty"`
	ToolChoice string            `json:"toolChoice,omitempty"` // auto (default), required or none
	Params     ChatParams        `json:"params"`
	Headers    map[string]string `json:"headers,omitempty"`
}

// Values of ModelRequest.ToolChoice.
const (
	ToolChoiceAuto     = "auto"
	ToolChoiceRequired = "required"
	ToolChoiceNone     = "none"
)

// RoleTool is the role of a ModelMessage that holds tool results.
const RoleTool = "tool"

// ModelMessage is one message of a request: RoleUser, RoleAssistant or RoleTool.
type ModelMessage struct {
	Role    string         `json:"role"`
	Content []ModelContent `json:"content"`
}

// ModelContent is a piece of a ModelMessage. Which fields count depends on Type, one of the Content
// constants.
type ModelContent struct {
	Type string `json:"type"`
	Text string `json:"text,omitempty"` // text, reasoning, the output of a tool result
	// Mime, Filename and URL (a data: URL, or an https: URL) belong to files.
	Mime     string `json:"mime,omitempty"`
	Filename string `json:"filename,omitempty"`
	URL      string `json:"url,omitempty"`
	// CallID and Tool belong to tool calls and results, Args (an object) to calls, IsError and Files
	// (what the tool attached) to results.
	CallID  string          `json:"callID,omitempty"`
	Tool    string          `json:"tool,omitempty"`
	Args    json.RawMessage `json:"args,omitempty"`
	IsError bool            `json:"isError,omitempty"`
	Files   []*FilePart     `json:"files,omitempty"`
	// Metadata is what the same provider and model attached when they produced this piece.
	Metadata Object `json:"metadata,omitempty"`
}

// Types of ModelContent.
const (
	ContentText       = "text"
	ContentReasoning  = "reasoning"
	ContentFile       = "file"
	ContentToolCall   = "tool-call"
	ContentToolResult = "tool-result"
)

// StreamEvent is one event of a model's answer. Deltas of one ID belong together. Tool calls may be
// interleaved and end with the stream; a text or reasoning block ends when another block begins, and
// coming back to its ID begins a new one. An event with Metadata and no Text is kept.
type StreamEvent struct {
	Type string `json:"type"`
	// ID tells blocks apart: any text that is stable within one answer.
	ID   string `json:"id,omitempty"`
	Text string `json:"text,omitempty"` // text and reasoning deltas, the argument delta of a tool call
	// CallID and Tool are set on a tool call's first event.
	CallID string `json:"callID,omitempty"`
	Tool   string `json:"tool,omitempty"`
	// Metadata is kept with the block and sent back in later requests to the same model.
	Metadata Object `json:"metadata,omitempty"`
	// Reason (a Finish constant) and Tokens belong to StreamFinish.
	Reason string `json:"reason,omitempty"`
	Tokens Tokens `json:"tokens,omitzero"`
}

// Types of StreamEvent.
const (
	StreamText      = "text"      // a text delta
	StreamReasoning = "reasoning" // a reasoning delta
	StreamToolCall  = "tool-call" // a tool call's name or an argument delta
	StreamFinish    = "finish"    // the answer is complete; exactly once, at the end
)
