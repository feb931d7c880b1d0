package openai

import (
	"encoding/json"

	"github.com/tenonhq/tenon/sdk"
)

// chatUsage is the usage of Chat Completions with the additions of other servers. The fields are floats because some
// servers send 12.0.
type chatUsage struct {
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

// responsesUsage is the usage of the Responses protocol.
type responsesUsage struct {
	Input        float64 `json:"input_tokens"`
	Output       float64 `json:"output_tokens"`
	Total        float64 `json:"total_tokens"`
	InputDetails struct {
		Cached float64 `json:"cached_tokens"`
		Write  float64 `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	OutputDetails struct {
		Reasoning float64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

// chatTokens converts a usage. It ignores an invalid one, so that the answer is kept.
func chatTokens(raw json.RawMessage) (tokens sdk.Tokens, ok bool) {
	var u chatUsage
	if len(raw) == 0 || string(raw) == "null" || json.Unmarshal(raw, &u) != nil {
		return sdk.Tokens{}, false
	}
	read := max(u.PromptDetails.Cached, u.CacheHit, u.Cached, u.CacheRead)
	write := max(u.PromptDetails.Write, u.CacheWrite)
	return countTokens(u.Prompt, u.Completion, u.Total, read, write, u.CompletionDetails.Reasoning), true
}

func responsesTokens(raw json.RawMessage) sdk.Tokens {
	var u responsesUsage
	if len(raw) == 0 || json.Unmarshal(raw, &u) != nil {
		return sdk.Tokens{}
	}
	return countTokens(u.Input, u.Output, u.Total, u.InputDetails.Cached, u.InputDetails.Write, u.OutputDetails.Reasoning)
}

// countTokens separates the counts: servers include cached tokens in the prompt and reasoning
// tokens in the output. Some (xAI, Google) do not include reasoning in the output, which the total shows.
func countTokens(prompt, output, total, read, write, reasoning float64) sdk.Tokens {
	if extra := total - prompt - output; total > 0 && extra > 0 {
		reasoning = max(reasoning, extra)
	} else {
		output -= reasoning
	}
	t := sdk.Tokens{
		Input:     count(prompt - read - write),
		Output:    count(output),
		Reasoning: count(reasoning),
		Cache:     sdk.CacheCount{Read: count(read), Write: count(write)},
	}
	t.Total = t.Sum()
	return t
}

// count converts a number of tokens; implausible ones count as 0.
func count(n float64) int64 {
	if n > 0 && n < 1e12 {
		return int64(n)
	}
	return 0
}
