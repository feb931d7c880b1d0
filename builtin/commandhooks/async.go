package commandhooks

import (
	"context"
	"encoding/json"
	"time"
)

const (
	maxAsync     = 16               // commands of a source at a time
	maxAsyncTime = 10 * time.Minute // of a command; the dialect's default timeout
)

// background runs a command and does not wait for it. Its answer decides nothing.
func (p *Plugin) background(ctx context.Context, e *entry, input map[string]any) error {
	data, err := json.Marshal(input) // the caller uses the input again
	if err != nil {
		return err
	}
	select {
	case p.slots <- struct{}{}:
	default:
		p.log.Warn("async command hook not run: too many are running", "source", p.source.Where, "hook", e.where)
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	if !p.running.Go(func() { // ends with the command, by its timeout or by Close
		defer func() { <-p.slots }()
		if _, err := p.answer(ctx, e, json.RawMessage(data)); err != nil && p.running.Life().Err() == nil {
			p.log.Warn("async command hook failed", "err", err)
		}
	}) {
		<-p.slots
	}
	return nil
}
