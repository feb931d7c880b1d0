package host

import (
	"testing"
)

// allStates and allEvents are derived from the name tables, so that a new one cannot be forgotten here.
func allStates() []state {
	out := make([]state, len(stateNames))
	for i := range out {
		out[i] = state(i)
	}
	return out
}

func allEvents() []event {
	out := make([]event, len(eventNames))
	for i := range out {
		out[i] = event(i)
	}
	return out
}

// TestNext holds the whole table: every pair that is not listed must be refused.
func TestNext(t *testing.T) {
	t.Parallel()
	want := map[state]map[event]state{
		stateIdle:    {evPrompt: statePrepare},
		statePrepare: {evPrepared: stateRequest, evOverflow: stateCompact, evToolCalls: stateTools, evSettled: stateDone, evFail: stateFailed, evAbort: stateAborted},
		stateRequest: {evBuilt: stateStream, evOverflow: stateCompact, evFail: stateFailed, evAbort: stateAborted},
		stateStream:  {evAnswered: stateDecide, evToolCalls: stateTools, evRetry: stateWait, evOverflow: stateCompact, evFail: stateFailed, evAbort: stateAborted},
		stateWait:    {evRetryDue: stateRequest, evFail: stateFailed, evAbort: stateAborted},
		stateTools:   {evToolsDone: stateDecide, evHalt: stateDone, evFail: stateFailed, evAbort: stateAborted},
		stateDecide:  {evNextStep: stateRequest, evOverflow: stateCompact, evFinished: stateStop, evPrompt: statePrepare, evFail: stateFailed, evAbort: stateAborted},
		stateCompact: {evCompacted: stateRequest, evSettled: stateStop, evFail: stateFailed, evAbort: stateAborted},
		stateStop:    {evStop: stateDone, evGoOn: stateRequest, evPrompt: statePrepare, evFail: stateFailed, evAbort: stateAborted},
		stateDone:    {evPrompt: statePrepare, evRest: stateIdle},
		stateFailed:  {evPrompt: statePrepare, evRest: stateIdle},
		stateAborted: {evPrompt: statePrepare, evRest: stateIdle},
	}
	for _, s := range allStates() {
		for _, e := range allEvents() {
			to, ok := want[s][e]
			got, err := next(s, e)
			if ok != (err == nil) || ok && got != to {
				t.Errorf("next(%s, %s) = %s, %v, want %s (allowed: %v)", s, e, got, err, to, ok)
			}
		}
	}
}

// TestNextReachesRest checks that from every state some path leads to rest, so no turn can get stuck.
func TestNextReachesRest(t *testing.T) {
	t.Parallel()
	for _, start := range allStates() {
		seen := map[state]bool{start: true}
		queue := []state{start}
		for len(queue) > 0 && !seen[stateIdle] {
			s := queue[0]
			queue = queue[1:]
			for _, e := range allEvents() {
				if to, err := next(s, e); err == nil && !seen[to] {
					seen[to] = true
					queue = append(queue, to)
				}
			}
		}
		if !seen[stateIdle] {
			t.Errorf("no path from %s to %s", start, stateIdle)
		}
	}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		facts stepFacts
		want  event
	}{
		"an answer ends the turn":                       {stepFacts{}, evFinished},
		"tool results go back to the model":             {stepFacts{toolCalls: true}, evNextStep},
		"the last step ends the turn":                   {stepFacts{toolCalls: true, lastStep: true}, evFinished},
		"a prompt that waits is next":                   {stepFacts{queued: true}, evPrompt},
		"a prompt that waits goes with the results":     {stepFacts{toolCalls: true, queued: true}, evPrompt},
		"a prompt that waits comes after the last step": {stepFacts{toolCalls: true, lastStep: true, queued: true}, evPrompt},
		"room is made before the next request":          {stepFacts{toolCalls: true, overflow: true}, evOverflow},
		"room is made before a prompt that waits":       {stepFacts{queued: true, overflow: true}, evOverflow},
		"no room is made when nothing follows":          {stepFacts{overflow: true}, evFinished},
	}
	for name, c := range cases {
		if got := decide(c.facts); got != c.want {
			t.Errorf("%s: decide(%+v) = %s, want %s", name, c.facts, got, c.want)
		}
	}
}

// FuzzNext walks the machine by arbitrary events: a refused event leaves the state as it was, and an ended
// turn accepts a new prompt or comes to rest.
func FuzzNext(f *testing.F) {
	f.Add([]byte{0, 1, 2, 4, 5, 9, 2, 3, 12, 13, 18})
	f.Fuzz(func(t *testing.T, steps []byte) {
		s := stateIdle
		for _, b := range steps {
			e := event(int(b) % len(eventNames))
			to, err := next(s, e)
			if err != nil && to != s {
				t.Fatalf("next(%s, %s) = %s with error %v, want the state unchanged", s, e, to, err)
			}
			if s.working() {
				if a, err := next(s, evAbort); err != nil || a != stateAborted {
					t.Fatalf("next(%s, abort) = %s, %v, want %s", s, a, err, stateAborted)
				}
			}
			s = to
		}
	})
}
