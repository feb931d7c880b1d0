package commandhooks

import (
	"context"
	"encoding/json"
	"time"
)

const (
	maxAsync     = 16               // commands of a source at a time
	maxAsyncTime = 10 * time.Minute // of a command; the dialect's default timeout
	asyncWait    = 2 * time.Second  // of Close at most, for commands such as a message about the end of the turn
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
		p.log.Warn("async command hook not run: too many are running, or tenon is shutting down", "source", p.source.Where, "hook", e.where)
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	go func() { // ends with the command, by its timeout or by Close
		defer func() { <-p.slots }()
		if _, err := p.answer(ctx, e, json.RawMessage(data)); err != nil {
			p.log.Warn("async command hook failed", "err", err)
		}
	}()
	return nil
}

// takeSlots takes n slots, each when it is free, so that no async command starts any more. It returns how many it could not take before end.
func (p *Plugin) takeSlots(n int, end <-chan struct{}) (left int) {
	for ; n > 0; n-- {
		select {
		case p.slots <- struct{}{}:
		case <-end:
			return n
		}
	}
	return 0
}
