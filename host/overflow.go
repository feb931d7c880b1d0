package host

import (
	"fmt"

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

// usableTokens returns how much of the model's context a request may take; 0 means no check.
func (t *turn) usableTokens() int64 {
	l := t.model.Limit
	output := model.OutputLimit(&t.model.Model)
	if output == 0 {
		output = min(model.MaxOutputTokens, l.Context/4)
	}
	if l.Input > 0 {
		reserved := t.g.Config.Compaction.Reserved
		if reserved == 0 {
			reserved = min(reservedTokens, output)
		}
		return max(0, l.Input-reserved)
	}
	return max(0, l.Context-max(output, t.g.Config.Compaction.Reserved))
}

// overflows reports whether a conversation that took so many tokens has to be summarised before the next
// request.
func (t *turn) overflows(tokens sdk.Tokens) bool {
	usable := t.usableTokens()
	return usable > 0 && t.autoCompact() && tokens.Sum() >= usable
}

// autoCompact reports whether the host may summarise by itself.
func (t *turn) autoCompact() bool {
	auto := t.g.Config.Compaction.Auto
	return auto == nil || *auto
}

// overflowError says what to do about a conversation that does not fit when the host may not summarise.
func (t *turn) overflowError(err error) error {
	return fmt.Errorf("%w; the conversation is too long for %s: compact the session, or set compaction.auto to true in tenon.json", err, t.model.Ref())
}

// lastTokens returns what the latest finished step of the conversation took.
func (t *turn) lastTokens() sdk.Tokens {
	messages := t.c.Snapshot()
	for i := len(messages) - 1; i >= 0; i-- {
		a, ok := messages[i].Info.(*sdk.AssistantMessage)
		switch {
		case !ok || a.Time.Completed == 0:
		case a.Summary && a.Error == nil:
			return sdk.Tokens{} // what came before it does not count any more
		case a.Tokens.Sum() > 0:
			return a.Tokens
		}
	}
	return sdk.Tokens{}
}
