package commandhooks

import (
	"context"
	"fmt"
	"sync"

	"github.com/tenonhq/tenon/sdk"
)

// maxFailures is how many failures in a row make the engine quarantine a plugin.
const maxFailures = 3

// record counts failures so that the engine sees them. For the engine every hook that returns without an error ends the row of a
// plugin's failures; a hook of ours that had no command to run must not. Safe for use from many goroutines.
type record struct {
	mu       sync.Mutex
	failed   int   // commands in a row
	last     error // of the last one
	returned int   // hooks in a row that returned an error, as the engine counts
}

// ran notes how a command ended.
func (r *record) ran(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.failed, r.last = 0, nil
		return
	}
	r.failed, r.last = r.failed+1, err
}

// giveUp returns an error when too many commands failed in a row for the next one to be run.
func (r *record) giveUp() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed < maxFailures {
		return nil
	}
	return fmt.Errorf("not run: %d commands in a row failed, the last: %w", r.failed, r.last)
}

// returns notes what a hook returns. With that many errors in a row the engine has quarantined the plugin: when it is called again,
// the user wants another try.
func (r *record) returns(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.returned = 0
		return
	}
	if r.returned++; r.returned >= maxFailures {
		r.failed, r.returned = 0, 0
	}
}

// judged is a hook of the plugin whose outcome goes into its record.
type judged struct {
	sdk.Handler
	record *record
}

// Handle calls the hook. One that had nothing to run fails, too, once the plugin has given up.
func (j *judged) Handle(ctx context.Context, call *sdk.HookCall) (sdk.Answer, error) {
	answer, err := j.Handler.Handle(ctx, call)
	if err == nil {
		err = j.record.giveUp()
	}
	j.record.returns(err)
	if err != nil {
		return sdk.Answer{}, err
	}
	return answer, nil
}
