package api

// OptionNames returns the names of options in the format, for wire.Renamed. Chat Completions and Responses have different positions.
func OptionNames(responses bool) map[string]string {
	names := map[string]string{
		"serviceTier":          "service_tier",
		"parallelToolCalls":    "parallel_tool_calls",
		"promptCacheKey":       "prompt_cache_key",
		"promptCacheRetention": "prompt_cache_retention",
		"safetyIdentifier":     "safety_identifier",
		"reasoningEffort":      "reasoning_effort",
		"textVerbosity":        "verbosity",
		"cacheControl":         "", // only switches marks off
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
