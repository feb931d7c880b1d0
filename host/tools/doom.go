package tools

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/tenonhq/tenon/sdk"
)

const (
	// doomRepeats is the number of equal calls, or cycles of calls, in a row at which the user is asked.
	doomRepeats = 3
	// doomPeriod is the length of the longest detected cycle.
	doomPeriod = 6
	// maxCompacted is the size in bytes of the arguments that are compared without regard to white space: longer ones are not copied.
	maxCompacted = 1 << 20
)

// Doom detects a model that repeats the same tool call, or a cycle of calls, with the same arguments, in one step
// or across steps.
type Doom struct {
	calls   [][sha256.Size]byte // of this turn, oldest first
	step    int                 // of the last refusal
	refusal *sdk.Refusal        // the last one
}

// add notes a call and returns the length of the cycle it completes, 0 for none.
func (w *Doom) add(tool string, args []byte) int {
	var compact bytes.Buffer
	if len(args) <= maxCompacted && json.Compact(&compact, args) == nil {
		args = compact.Bytes()
	}
	sum := sha256.New()
	_, _ = io.WriteString(sum, tool+"\x00")
	_, _ = sum.Write(args)
	w.calls = append(w.calls, [sha256.Size]byte(sum.Sum(nil)))
	for period := 1; period <= doomPeriod; period++ {
		n := period * doomRepeats
		if last := w.calls[max(0, len(w.calls)-n):]; len(last) == n && slices.Equal(last[period:], last[:n-period]) {
			return period
		}
	}
	return 0
}

// Watch asks the user whether a repeated call may run, or fail, again: calls of unknown tools, with wrong arguments, or that a hook denies
// count too. args are the model's. After a refusal the model is advised to do something else; a refusal in a later step ends the turn.
func (w *Doom) Watch(ctx context.Context, step int, tool string, args []byte, ask func(context.Context, sdk.PermissionRequest) error) error {
	period := w.add(tool, args)
	if period == 0 {
		return nil
	}
	if w.refusal != nil && step == w.step { // the other calls of the same answer
		return w.refusal
	}
	what := "the same call"
	if period > 1 {
		what = fmt.Sprintf("the same cycle of %d calls", period)
	}
	err := ask(ctx, sdk.PermissionRequest{
		Permission: sdk.PermissionDoomLoop, Patterns: []string{tool}, Always: []string{tool},
		Metadata: sdk.Object{"tool": tool, "period": period, "repeats": doomRepeats},
	})
	if err == nil {
		w.calls = nil
		return nil
	}
	refusal, ok := errors.AsType[*sdk.Refusal](err)
	if !ok {
		return err
	}
	w.step, w.refusal = step, &sdk.Refusal{
		Reason: fmt.Sprintf("%s was made %d times in a row and was not run again; try something else: %s", what, doomRepeats, refusal.Reason),
		By:     refusal.By, Halt: refusal.Halt || w.refusal != nil,
	}
	return w.refusal
}
