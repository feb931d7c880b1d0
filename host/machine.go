package host

import "fmt"

// state is where a turn stands.
type state uint8

const (
	stateIdle    state = iota // nothing to do
	statePrepare              // a prompt becomes a user message
	stateRequest              // the model request is built
	stateStream               // the answer arrives
	stateWait                 // a failed request waits for its next try
	stateTools                // tool calls run
	stateDecide               // the step is over: what next?
	stateCompact              // the conversation is summarised
	stateStop                 // hooks are asked whether the turn may end
	stateDone                 // the turn ended with an answer
	stateFailed               // the turn ended with an error
	stateAborted              // the user ended the turn
)

// event is what moves a turn from one state to the next.
type event uint8

const (
	evPrompt    event = iota // a prompt is there
	evPrepared               // its user message is part of the session
	evBuilt                  // the request is ready
	evAnswered               // the answer is complete and asks for no tool
	evToolCalls              // the answer is complete and asks for tools
	evToolsDone              // every call of the step has its result
	evRetry                  // the request failed in a way that may pass
	evRetryDue               // the wait is over
	evOverflow               // the conversation does not fit the model's context
	evNextStep               // the model gets the tool results
	evCompacted              // the summary is there, the turn goes on
	evSettled                // the summary is there, nothing is left to do
	evFinished               // the model has nothing more to do
	evStop                   // the turn may end
	evGoOn                   // a hook makes the turn go on
	evHalt                   // a refusal ends the turn
	evFail                   // an error ends the turn
	evAbort                  // the user ends the turn
	evRest                   // the ended turn is wound up and no prompt waits
)

// transitions is the whole loop. evFail and evAbort, which may come in every working state, are in next.
var transitions = map[state]map[event]state{
	stateIdle:    {evPrompt: statePrepare},
	statePrepare: {evPrepared: stateRequest, evOverflow: stateCompact, evToolCalls: stateTools, evSettled: stateDone},
	stateRequest: {evBuilt: stateStream, evOverflow: stateCompact},
	stateStream:  {evAnswered: stateDecide, evToolCalls: stateTools, evRetry: stateWait, evOverflow: stateCompact},
	stateWait:    {evRetryDue: stateRequest},
	stateTools:   {evToolsDone: stateDecide, evHalt: stateDone},
	stateDecide:  {evNextStep: stateRequest, evOverflow: stateCompact, evFinished: stateStop, evPrompt: statePrepare},
	stateCompact: {evCompacted: stateRequest, evSettled: stateStop},
	stateStop:    {evStop: stateDone, evGoOn: stateRequest, evPrompt: statePrepare},
	stateDone:    {evPrompt: statePrepare, evRest: stateIdle},
	stateFailed:  {evPrompt: statePrepare, evRest: stateIdle},
	stateAborted: {evPrompt: statePrepare, evRest: stateIdle},
}

// working reports whether a turn in this state can fail or be aborted.
func (s state) working() bool { return s != stateIdle && s < stateDone }

// next returns the state that follows. An event that does not belong to the state is a bug of the host,
// reported as an error instead of being guessed around.
func next(s state, e event) (state, error) {
	if s.working() {
		switch e {
		case evFail:
			return stateFailed, nil
		case evAbort:
			return stateAborted, nil
		}
	}
	to, ok := transitions[s][e]
	if !ok {
		return s, fmt.Errorf("turn: event %s does not belong to state %s", e, s)
	}
	return to, nil
}

// stepFacts is what the decision after a step depends on.
type stepFacts struct {
	toolCalls bool // the model asked for tools, so it waits for their results
	lastStep  bool // the agent's limit of steps is reached
	overflow  bool // the step took more tokens than the next one may
	queued    bool // a prompt arrived meanwhile
}

// decide says what follows a step.
func decide(f stepFacts) event {
	switch {
	case f.overflow && (f.toolCalls || f.queued):
		return evOverflow // the next request would not fit
	case f.queued:
		return evPrompt
	case f.toolCalls && !f.lastStep:
		return evNextStep
	}
	return evFinished
}

var stateNames = [...]string{"idle", "prepare", "request", "stream", "wait", "tools", "decide", "compact", "stop", "done", "failed", "aborted"}

// String returns the name used in logs.
func (s state) String() string { return stateNames[s] }

var eventNames = [...]string{
	"prompt", "prepared", "built", "answered", "tool calls", "tools done", "retry", "retry due", "overflow",
	"next step", "compacted", "settled", "finished", "stop", "go on", "halt", "fail", "abort", "rest",
}

// String returns the name used in logs.
func (e event) String() string { return eventNames[e] }
