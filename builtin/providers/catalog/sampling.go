package catalog

import "github.com/tenonhq/tenon/sdk"

// sampling returns the parameters with which the families were published, as opencode sends them. Other models get the server's.
func (r *rule) sampling() (s sdk.Sampling) {
	set := func(into **float64, value float64) { *into = &value }
	if r.model.Temperature || r.model.Sampling.Temperature != nil {
		switch {
		case r.has("north-mini-code", "glm-4.6", "glm-4.7", "minimax-m2", "gemini-2.5", "gemini-3", "kimi-k2-thinking", "kimi-k2.", "kimi-k2p"):
			set(&s.Temperature, 1)
		case r.has("kimi-k2"):
			set(&s.Temperature, 0.6)
		}
	}
	if r.has("gemini", "minimax-m2", "kimi-k2.5", "kimi-k2p5", "deepseek-v4-flash") {
		set(&s.TopP, 0.95)
	}
	topK := 0
	switch {
	case r.has("gemini"):
		topK = 64
	case r.has("minimax-m2.1", "minimax-m2.5"):
		topK = 40
	case r.has("minimax-m2"):
		topK = 20
	}
	if topK > 0 {
		s.TopK = &topK
	}
	return s
}
