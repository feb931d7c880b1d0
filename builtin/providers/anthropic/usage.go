package anthropic

import (
	"encoding/json"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/sdk"
)

// usage is the usage of an answer. Counts are cumulative: an event corrects those that it has, see count. Cached tokens are not part of the
// input.
type usage struct {
	Input         float64 `json:"input_tokens"`
	Output        float64 `json:"output_tokens"`
	CacheRead     float64 `json:"cache_read_input_tokens"`
	CacheWrite    float64 `json:"cache_creation_input_tokens"`
	OutputDetails struct {
		Thinking float64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
	// Iterations has the parts of an answer in which the server compacted the conversation; the counts above have only the last one.
	Iterations []struct {
		Type   string  `json:"type"`
		Input  float64 `json:"input_tokens"`
		Output float64 `json:"output_tokens"`
	} `json:"iterations"`
}

// count decodes a usage into the counts so far, which keep the values that it lacks.
func (d *decoder) count(raw json.RawMessage) {
	if wire.Present(raw) {
		d.Decode(raw, &d.usage)
	}
}

func (u *usage) tokens() sdk.Tokens {
	compacted, input, output := false, 0.0, 0.0
	for _, part := range u.Iterations {
		compacted = compacted || part.Type == "compaction"
		if part.Type == "message" || part.Type == "compaction" {
			input, output = input+part.Input, output+part.Output
		}
	}
	if compacted {
		u.Input, u.Output = input, output
	}
	return wire.Tokens(u.Input, u.Output-u.OutputDetails.Thinking, u.OutputDetails.Thinking, u.CacheRead, u.CacheWrite)
}
