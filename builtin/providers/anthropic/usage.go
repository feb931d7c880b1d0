package anthropic

import (
	"slices"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/sdk"
)

// usage is the usage of an answer. Counts are cumulative; a later event corrects the counts that it has. Cached tokens are not part of
// the input.
type usage struct {
	Input         *float64 `json:"input_tokens"`
	Output        *float64 `json:"output_tokens"`
	CacheRead     *float64 `json:"cache_read_input_tokens"`
	CacheWrite    *float64 `json:"cache_creation_input_tokens"`
	OutputDetails struct {
		Thinking *float64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
	// Iterations has the parts of an answer in which the server compacted the conversation; the counts above have only the last one.
	Iterations []iteration `json:"iterations"`
}

type iteration struct {
	Type   string  `json:"type"`
	Input  float64 `json:"input_tokens"`
	Output float64 `json:"output_tokens"`
}

// counts are the counts of an answer so far.
type counts struct{ input, output, read, write, thinking float64 }

func (c *counts) add(u *usage) {
	if u == nil {
		return
	}
	for _, pair := range []struct {
		into *float64
		from *float64
	}{
		{&c.input, u.Input}, {&c.output, u.Output}, {&c.read, u.CacheRead}, {&c.write, u.CacheWrite}, {&c.thinking, u.OutputDetails.Thinking},
	} {
		if pair.from != nil {
			*pair.into = *pair.from
		}
	}
	if !slices.ContainsFunc(u.Iterations, func(part iteration) bool { return part.Type == "compaction" }) {
		return
	}
	c.input, c.output = 0, 0
	for _, part := range u.Iterations {
		if part.Type == "message" || part.Type == "compaction" {
			c.input, c.output = c.input+part.Input, c.output+part.Output
		}
	}
}

func (c *counts) tokens() sdk.Tokens {
	return wire.Tokens(c.input, c.output-c.thinking, c.thinking, c.read, c.write)
}
