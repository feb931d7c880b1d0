// Package requestfield says which fields of a model request the files of a project may set. The options of models, variants and agents
// become fields of the request's body, and some fields could make the server pass the conversation on to others: tools with an address,
// the order of the companies that serve a model, additional messages. The package also says which options of a provider select the
// server, as its address does.
package requestfield

import (
	"maps"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/jsonpointer"
)

// generation lists the fields that only decide how an answer is generated, in the spellings that the wire formats read or pass on.
func generation() []string {
	return []string{
		"reasoningEffort", "reasoning_effort", "reasoningSummary", "reasoning", "reasoningConfig", "effort",
		"thinking", "thinkingConfig", "enable_thinking", "thinking_budget",
		"verbosity", "textVerbosity",
		"temperature", "topP", "top_p", "topK", "top_k", "minP", "min_p", "seed",
		"frequencyPenalty", "frequency_penalty", "presencePenalty", "presence_penalty", "repetitionPenalty", "repetition_penalty",
		"maxTokens", "max_tokens", "maxOutputTokens", "max_output_tokens", "max_completion_tokens",
		"parallelToolCalls", "parallel_tool_calls", "disableParallelToolUse",
	}
}

// Generates reports whether a field of a request only decides how an answer is generated.
func Generates(name string) bool { return slices.Contains(generation(), name) }

// SetsOthers reports whether a hook at chat.params that writes these fields can set other options than those of Generates.
func SetsOthers(writes []string) bool {
	return slices.ContainsFunc(jsonpointer.Below(writes, "/options"), func(option string) bool {
		name, _, _ := strings.Cut(strings.TrimPrefix(option, "/"), "/")
		return !Generates(name)
	})
}

// Addresses lists the options of a provider from which wire formats build its address.
func Addresses() []string {
	return []string{"endpoint", "enterpriseUrl", "location", "project", "region", "resourceName"}
}

// Restrict deletes the options that a file of a project may not set. It returns their names, sorted.
func Restrict(options map[string]any) []string {
	allowed := append(generation(), "disabled") // "disabled" removes a variant
	var deleted []string
	for _, name := range slices.Sorted(maps.Keys(options)) {
		if !slices.Contains(allowed, name) {
			delete(options, name)
			deleted = append(deleted, name)
		}
	}
	return deleted
}
