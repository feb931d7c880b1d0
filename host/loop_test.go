package host

import (
	"fmt"
	"slices"
	"testing"
)

// transitions is the whole loop: what may follow each state. An error or an abort may end a turn in any of them.
func transitions() map[state][]state {
	return map[state][]state{
		statePrepare: {stateAsk, stateCompact, stateTools, stateDecide, stateDone},
		stateAsk:     {stateDecide, stateTools, stateCompact},
		stateTools:   {stateDecide, stateDone},
		stateDecide:  {stateAsk, stateCompact, stateStop, statePrepare},
		stateCompact: {stateAsk, stateStop},
		stateStop:    {stateDone, stateAsk, statePrepare},
	}
}

// CheckLoop calls report for every step of the host's loop that the table does not allow. All tests of this package run with it.
func (h *Host) CheckLoop(report func(problem string)) {
	table := transitions()
	h.trace = func(from, to state) {
		if !slices.Contains(table[from], to) {
			report(fmt.Sprintf("the loop went from state %d to %d, which the table does not allow", from, to))
		}
	}
}

// TestTransitionsReachTheEnd checks that from every state some path leads to the end, so no turn can get stuck.
func TestTransitionsReachTheEnd(t *testing.T) {
	t.Parallel()
	table := transitions()
	for start := statePrepare; start < stateDone; start++ {
		seen, queue := map[state]bool{}, []state{start}
		for len(queue) > 0 {
			at := queue[0]
			queue = queue[1:]
			if !seen[at] {
				seen[at] = true
				queue = append(queue, table[at]...)
			}
		}
		if !seen[stateDone] {
			t.Errorf("no path from state %d to the end", start)
		}
	}
}

func TestFollows(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		facts stepFacts
		want  state
	}{
		"an answer ends the turn":                       {stepFacts{}, stateStop},
		"tool results go back to the model":             {stepFacts{toolCalls: true}, stateAsk},
		"the last step ends the turn":                   {stepFacts{toolCalls: true, lastStep: true}, stateStop},
		"a prompt that waits is next":                   {stepFacts{queued: true}, statePrepare},
		"a prompt that waits goes with the results":     {stepFacts{toolCalls: true, queued: true}, statePrepare},
		"a prompt that waits comes after the last step": {stepFacts{toolCalls: true, lastStep: true, queued: true}, statePrepare},
		"room is made before the next request":          {stepFacts{toolCalls: true, overflow: true}, stateCompact},
		"room is made before a prompt that waits":       {stepFacts{queued: true, overflow: true}, stateCompact},
		"no room is made when nothing follows":          {stepFacts{overflow: true}, stateStop},
	}
	for name, c := range cases {
		if got := follows(c.facts); got != c.want {
			t.Errorf("%s: follows(%+v) = %d, want %d", name, c.facts, got, c.want)
		}
	}
}
