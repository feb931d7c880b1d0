package chat

import (
	"encoding/json"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/sdk"
)

// usage is the usage of Chat Completions with the additions of other servers. The fields are floats because some
// servers send 12.0.
type usage struct {
	Prompt        float64 `json:"prompt_tokens"`
	Completion    float64 `json:"completion_tokens"`
	Total         float64 `json:"total_tokens"`
	PromptDetails struct {
		Cached float64 `json:"cached_tokens"`
		Write  float64 `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning float64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	CacheHit   float64 `json:"prompt_cache_hit_tokens"`     // DeepSeek
	Cached     float64 `json:"cached_tokens"`               // Moonshot
	CacheRead  float64 `json:"cache_read_input_tokens"`     // LiteLLM, from Anthropic
	CacheWrite float64 `json:"cache_creation_input_tokens"` // the same
}

// tokensOf converts a usage. It ignores an invalid one, so that the answer is kept.
func tokensOf(raw json.RawMessage) (tokens sdk.Tokens, ok bool) {
	if !wire.Present(raw) {
		return sdk.Tokens{}, false // of almost all events, without making room for one
	}
	var u usage
	if json.Unmarshal(raw, &u) != nil {
		return sdk.Tokens{}, false
	}
	read := max(u.PromptDetails.Cached, u.CacheHit, u.Cached, u.CacheRead)
	write := max(u.PromptDetails.Write, u.CacheWrite)
	return wire.CountTokens(u.Prompt, u.Completion, u.Total, read, write, u.CompletionDetails.Reasoning), true
}
