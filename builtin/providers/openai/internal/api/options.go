package api

import (
	"maps"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/sdk"
)

// WireOptions returns the options under their names in the protocol. Configurations for the AI SDK
// use other names, and the two protocols use different positions. If an option is set
// under both names, the protocol's wins.
func WireOptions(options sdk.Object, responses bool) sdk.Object {
	names := optionNames(responses)
	out := make(sdk.Object, len(options))
	for _, name := range slices.Sorted(maps.Keys(options)) {
		path, ok := names[name]
		if !ok {
			continue
		}
		outer, inner, nested := strings.Cut(path, ".")
		if !nested {
			out[outer] = options[name]
			continue
		}
		out[outer] = wire.Joined(out[outer], sdk.Object{inner: options[name]})
	}
	for name, value := range options {
		if _, ok := names[name]; !ok && name != "cacheControl" { // it only switches marks off
			out[name] = wire.Joined(out[name], value)
		}
	}
	return out
}

func optionNames(responses bool) map[string]string {
	names := map[string]string{
		"serviceTier":          "service_tier",
		"parallelToolCalls":    "parallel_tool_calls",
		"promptCacheKey":       "prompt_cache_key",
		"promptCacheRetention": "prompt_cache_retention",
		"safetyIdentifier":     "safety_identifier",
		"reasoningEffort":      "reasoning_effort",
		"textVerbosity":        "verbosity",
	}
	if responses {
		names["reasoningEffort"] = "reasoning.effort"
		names["reasoning_effort"] = "reasoning.effort"
		names["reasoningSummary"] = "reasoning.summary"
		names["textVerbosity"] = "text.verbosity"
		names["verbosity"] = "text.verbosity"
	}
	return names
}
