package compact

import (
	"cmp"
	"fmt"

	"github.com/tenonhq/tenon/host/convert"
	"github.com/tenonhq/tenon/host/model"
	"github.com/tenonhq/tenon/sdk"
)

// Limits of compaction; opencode's figures.
const (
	reservedTokens = 20_000 // kept free for the answer, at most
	tailShare      = 4      // a quarter of the usable context is kept verbatim,
	tailMinTokens  = 2_000  // but not less than this
	tailMaxTokens  = 15_000 // nor more than this
)

// usableTokens returns the maximum tokens of a request to a model; 0 means no check.
func usableTokens(m *sdk.Model, cfg sdk.CompactionConfig) int64 {
	l := m.Limit
	output := cmp.Or(model.OutputLimit(m), min(model.MaxOutputTokens, l.Context/4))
	if l.Input > 0 {
		reserved := cmp.Or(cfg.Reserved, min(reservedTokens, output))
		return max(0, l.Input-reserved)
	}
	return max(0, l.Context-max(output, cfg.Reserved))
}

// Overflows reports whether a conversation of so many tokens has to be summarized before the next request.
func Overflows(m *sdk.Model, cfg sdk.CompactionConfig, tokens int64) bool {
	usable := usableTokens(m, cfg)
	return usable > 0 && Automatic(cfg) && tokens >= usable
}

// Automatic reports whether the host may summarize by itself.
func Automatic(cfg sdk.CompactionConfig) bool { return cfg.Auto == nil || *cfg.Auto }

// NextTokens returns the tokens of the latest finished step, as the server counted them, and a guess of those that the next request adds:
// the results of the step's tool calls, and later messages. It returns 0 without a count, and after a summary.
func NextTokens(messages []sdk.MessageWithParts) int64 {
	added := int64(0)
	for i := len(messages) - 1; i >= 0; i-- {
		a, ok := messages[i].Info.(*sdk.AssistantMessage)
		switch {
		case !ok || a.Time.Completed == 0:
		case a.Summary && a.Error == nil:
			return 0 // earlier steps no longer count
		case a.Tokens.Sum() > 0:
			return a.Tokens.Sum() + added + convert.ResultTokens(&messages[i])
		}
		added += convert.Tokens(&messages[i])
	}
	return 0
}

// TooLong returns the error for a conversation that no summary makes short enough. Clients derive the remedy from its kind. refusal is the
// error of the server, which may name the limit; it is nil if the counted tokens exceed the model's limit.
func TooLong(refusal error, format string, args ...any) error {
	message := fmt.Sprintf(format, args...)
	if refusal != nil {
		return fmt.Errorf("%s: %w", message, refusal)
	}
	return &sdk.NamedError{Name: sdk.ErrorContextOverflow, Data: sdk.ErrorData{Message: message}}
}
