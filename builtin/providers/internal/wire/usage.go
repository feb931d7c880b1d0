package wire

import "github.com/tenonhq/tenon/sdk"

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

// Count converts a number of tokens; implausible ones count as 0.
func Count(n float64) int64 {
	if n > 0 && n < 1e12 {
		return int64(n)
	}
	return 0
}
