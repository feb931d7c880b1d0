package wire

import (
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

// FinishReason translates the reason for which a model ended its answer. Servers behind gateways keep their own names, so each format
// knows the names of all; an unknown one is FinishOther. See https://ai.google.dev/api/generate-content#FinishReason for Google's.
func FinishReason(reason string) string {
	reason = strings.ReplaceAll(strings.ToLower(reason), "-", "_")
	switch reason {
	case "stop", "end_turn", "eos", "stop_sequence", "pause_turn":
		return sdk.FinishStop
	case "length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded":
		return sdk.FinishLength
	case "tool_calls", "function_call", "tool_use":
		return sdk.FinishToolCalls
	case "content_filter", "content_filtered", "guardrail_intervened", "refusal",
		"safety", "recitation", "blocklist", "prohibited_content", "spii", "image_safety", "sensitive":
		return sdk.FinishContentFilter
	case "abort", "insufficient_system_resource", "malformed_function_call", "malformed_response", "unexpected_tool_call", "too_many_tool_calls",
		"missing_thought_signature", "malformed_model_output", "malformed_tool_use":
		return sdk.FinishError
	}
	if strings.Contains(reason, "error") { // such as network_error of Z.AI
		return sdk.FinishError
	}
	return sdk.FinishOther
}

// CountTokens separates the counts: servers include cached tokens in the prompt and reasoning
// tokens in the output. Some (xAI, Google) do not include reasoning in the output, which the total shows.
func CountTokens(prompt, output, total, read, write, reasoning float64) sdk.Tokens {
	if extra := total - prompt - output; total > 0 && extra > 0 {
		reasoning = max(reasoning, extra)
	} else {
		output -= reasoning
	}
	return Tokens(prompt-read-write, output, reasoning, read, write)
}

// Tokens returns counts that do not include each other, with their total.
func Tokens(input, output, reasoning, read, write float64) sdk.Tokens {
	t := sdk.Tokens{
		Input:     Count(input),
		Output:    Count(output),
		Reasoning: Count(reasoning),
		Cache:     sdk.CacheCount{Read: Count(read), Write: Count(write)},
	}
	t.Total = t.Sum()
	return t
}

// Count converts a number of tokens; an implausible number counts as 0.
func Count(n float64) int64 {
	if n > 0 && n < 1e12 {
		return int64(n)
	}
	return 0
}
