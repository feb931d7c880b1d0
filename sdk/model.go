package sdk

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
)

// ProviderInfo describes a provider and its models. Plugins contribute it; "provider" in the configuration extends it or adds another.
type ProviderInfo struct {
	ID       string   `json:"id"`
	Name     string   `json:"name"`
	Env      []string `json:"env,omitempty"` // environment variables for the key; the first one that is set is used
	Protocol string   `json:"protocol"`      // name of a Protocol
	// NPM is the npm package by which opencode and models.dev name the server's dialect. It is not installed.
	NPM string `json:"npm,omitempty"`
	// BaseURL is the address of the API, without a trailing slash.
	BaseURL string            `json:"baseURL,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Options Object            `json:"options,omitempty"` // further options of the protocol
	// OptionEnv holds the environment variables that set missing options, by option; the first one that is set is used. The option "baseURL" is
	// BaseURL.
	OptionEnv map[string][]string `json:"optionEnv,omitempty"`
	// NoKey marks a provider that can be used without a key: credentials come from the system, or from headers.
	NoKey bool `json:"noKey,omitempty"`
	// PublicKey is the server's key for the models without a price, which users without a key can use.
	PublicKey string `json:"publicKey,omitempty"`
	// Local marks a server on this machine that requires no key. Its models are read from the server.
	Local bool `json:"local,omitempty"`
	// AccountModels marks a server whose models depend on the user's account. Before the first use of a model, the host requests the server's list,
	// which determines the models, their wire formats, limits and inputs. If the server has no list or fails, Models is used.
	AccountModels bool `json:"accountModels,omitempty"`
	// Default and Small are the models to use if the user configured none.
	Default string           `json:"default,omitempty"`
	Small   string           `json:"small,omitempty"`
	Models  map[string]Model `json:"models,omitempty"`
	// Key is the API key. It is never encoded.
	Key string `json:"-"`
	// KeyOnly forbids credentials that a protocol finds itself, such as with the AWS credential chain, because a file of the project or a plugin set the
	// address. It is never encoded.
	KeyOnly bool `json:"-"`
	// Authorize returns the headers that authorize a request, instead of Key. refused are the headers of an earlier attempt that the
	// server refused with the status 401; nil at first. It may be called concurrently. It is never encoded.
	Authorize func(ctx context.Context, refused map[string]string) (map[string]string, error) `json:"-"`
	// Serves is AuthMethod.Serves of the sign-in that Authorize uses. It is never encoded.
	Serves func(info *ProviderInfo, address string) bool `json:"-"`
	// Plan sets the price and the limits of a model for the account that is signed in, and reports whether the account has the model. If nil, the account
	// has all models as described. It is never encoded.
	Plan func(m *Model) bool `json:"-"`
	// SignedInBy is the AuthMethod.Owner of the plugin whose sign-in Authorize uses; empty if the plugin is compiled in. It is never encoded.
	SignedInBy string `json:"-"`
}

// Model describes a model.
type Model struct {
	ID         string `json:"id"`
	ProviderID string `json:"providerID"`
	// APIID is the server's name of the model, if it is not ID.
	APIID       string     `json:"apiID,omitempty"`
	Name        string     `json:"name"`
	Limit       ModelLimit `json:"limit"`
	Cost        ModelCost  `json:"cost"`
	Reasoning   bool       `json:"reasoning,omitempty"`   // supports reasoning
	Temperature bool       `json:"temperature,omitempty"` // supports a temperature
	ToolCall    bool       `json:"tool_call,omitempty"`   // supports tool calls
	Attachment  bool       `json:"attachment,omitempty"`  // supports files
	Modalities  Modalities `json:"modalities"`
	Status      string     `json:"status,omitempty"`       // alpha, beta, deprecated or empty
	Family      string     `json:"family,omitempty"`       // such as claude-sonnet
	ReleaseDate string     `json:"release_date,omitempty"` // YYYY-MM-DD
	// NPM, Protocol and BaseURL override the provider's values for this model.
	NPM      string `json:"npm,omitempty"`
	Protocol string `json:"protocol,omitempty"`
	BaseURL  string `json:"baseURL,omitempty"`
	// ReasoningField is the field of an assistant message in which the server wants the reasoning back, such as reasoning_content.
	ReasoningField   string            `json:"reasoningField,omitempty"`
	ReasoningOptions []ReasoningOption `json:"reasoning_options,omitempty"`
	// Sampling are the values to send if the agent has none.
	Sampling Sampling          `json:"sampling,omitzero"`
	Options  Object            `json:"options,omitempty"`
	Headers  map[string]string `json:"headers,omitempty"`
	Variants map[string]Object `json:"variants,omitempty"` // named sets of options, such as reasoning efforts
}

// FamilyText returns a text in lower case that contains the name of the model's family: the server's name of the model. AWS ARNs may not contain it; for
// those, the text is ID and Family.
func (m *Model) FamilyText() string {
	name := strings.ToLower(cmp.Or(m.APIID, m.ID))
	if strings.HasPrefix(name, "arn:") {
		name = strings.ToLower(m.ID + " " + m.Family)
	}
	return name
}

// ReasoningOption is a way in which a model's reasoning is set, as models.dev lists it.
type ReasoningOption struct {
	Type   string    `json:"type"`             // effort, budget_tokens or toggle
	Values []*string `json:"values,omitempty"` // of effort; null means none
	Min    int64     `json:"min,omitempty"`    // of budget_tokens
	Max    int64     `json:"max,omitempty"`    // of budget_tokens
}

// Sampling holds sampling parameters of a model. If one is nil, the server decides.
type Sampling struct {
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        *float64 `json:"topP,omitempty"`
	TopK        *int     `json:"topK,omitempty"`
}

// ModelLimit holds a model's limits in tokens. Zero means unknown, and no check is made.
type ModelLimit struct {
	Context int64 `json:"context"`         // tokens of prompt and answer
	Input   int64 `json:"input,omitempty"` // tokens of the prompt
	Output  int64 `json:"output"`          // tokens of the answer
}

// ModelCost holds a model's prices. Zero means free or unknown.
type ModelCost struct {
	Input      Price `json:"input"`                 // in dollars per million tokens, as all prices
	Output     Price `json:"output"`                // including reasoning tokens
	CacheRead  Price `json:"cache_read,omitempty"`  // of input from the server's cache
	CacheWrite Price `json:"cache_write,omitempty"` // of input that the server adds to its cache
	// prices of requests whose prompt has more than 200,000 tokens
	Over200K *ModelCost `json:"context_over_200k,omitempty"`
	// prices of requests whose whole prompt is larger than a tier's size; the largest such tier counts, and context_over_200k only without one
	Tiers []PriceTier `json:"tiers,omitempty"`
}

// PriceTier holds the prices of long prompts.
type PriceTier struct {
	Tier       TierBound `json:"tier"`                  // the prompts it is for
	Input      Price     `json:"input"`                 // in dollars per million tokens
	Output     Price     `json:"output"`                // including reasoning tokens
	CacheRead  Price     `json:"cache_read,omitempty"`  // of input from the server's cache
	CacheWrite Price     `json:"cache_write,omitempty"` // of input that the server adds to its cache
}

// TierBound selects the prompts of a PriceTier: the prompts that are larger.
type TierBound struct {
	Type string `json:"type"` // context, or empty
	Size int64  `json:"size"` // tokens of the prompt, including cached ones
}

// Modalities lists the kinds of input and output: text, image, pdf, audio, video.
type Modalities struct {
	Input  []string `json:"input,omitempty"`  // such as text, image, pdf
	Output []string `json:"output,omitempty"` // such as text
}

// Ref returns the reference of the model.
func (m *Model) Ref() ModelRef { return ModelRef{ProviderID: m.ProviderID, ModelID: m.ID} }

// Purpose is the purpose of a model request.
type Purpose string

// The purposes of a model request.
const (
	PurposeTurn       Purpose = "turn"       // the user's turn
	PurposeTitle      Purpose = "title"      // a title for the session
	PurposeCompaction Purpose = "compaction" // a summary of the conversation
	PurposeSubtask    Purpose = "subtask"    // a subagent's turn
	PurposeSampling   Purpose = "sampling"   // a request of a plugin
)

// ModelRequest is one request to a model, independent of the protocol. The provider must not change it.
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
	// Step is the number of the turn's step, from 1; 0 for a separate request. It is never encoded.
	Step int `json:"-"`
}

// Values of ModelRequest.ToolChoice.
const (
	ToolChoiceAuto     = "auto"
	ToolChoiceRequired = "required"
	ToolChoiceNone     = "none"
)

// RoleTool is the role of a ModelMessage that holds tool results, and nothing else.
const RoleTool = "tool"

// ModelMessage is one message of a request: RoleUser, RoleAssistant or RoleTool.
type ModelMessage struct {
	Role    string         `json:"role"`
	Content []ModelContent `json:"content"`
}

// ModelContent is a piece of a ModelMessage. Type, one of the Content constants, determines which fields are set.
type ModelContent struct {
	Type string `json:"type"`
	Text string `json:"text,omitempty"` // text, reasoning, the output of a tool result
	// Mime, Filename and URL (a data: URL) belong to files.
	Mime     string `json:"mime,omitempty"`
	Filename string `json:"filename,omitempty"`
	URL      string `json:"url,omitempty"`
	// CallID and Tool belong to tool calls and results, Args (an object) to calls, IsError and Files (the tool's attachments) to results.
	CallID  string          `json:"callID,omitempty"`
	Tool    string          `json:"tool,omitempty"`
	Args    json.RawMessage `json:"args,omitempty"`
	IsError bool            `json:"isError,omitempty"`
	Files   []*FilePart     `json:"files,omitempty"`
	// Metadata was attached to this piece by the same provider and model.
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

// StreamEvent is one event of a model's answer. Deltas with the same ID form a block. Tool calls may be interleaved and end with the stream. A
// text or reasoning block ends when another block begins; its ID then begins a new block. An event with Metadata and without Text is
// kept.
type StreamEvent struct {
	Type string `json:"type"`
	// ID identifies the block: any text that is stable within one answer.
	ID   string `json:"id,omitempty"`
	Text string `json:"text,omitempty"` // text and reasoning deltas, the argument delta of a tool call
	// CallID and Tool are set on a tool call's first event.
	CallID string `json:"callID,omitempty"`
	Tool   string `json:"tool,omitempty"`
	// Metadata is stored with the block and sent in later requests to the same model.
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
