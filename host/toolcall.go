package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/generation"
	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/tools"
	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// abandonAfter is the time a tool has to return after its context ended. After that, its call gets a result without it.
	abandonAfter = 5 * time.Second
	// longArgs is the size in bytes from which unused copies of arguments are freed immediately.
	longArgs = 1 << 20
)

// call is one tool call, from its arguments to its outcome.
type call struct {
	part  *sdk.ToolPart // not stored if byPlugin is set
	raw   []byte        // the arguments as the model wrote them
	cut   bool          // the answer reached the output limit, so the arguments may be incomplete
	tool  *tools.Tool
	args  json.RawMessage // the arguments that run
	host  *callHost
	paths []string // the files that the tool announced to write
	// prepared is data of a compiled-in tool, from Prepare for Execute.
	prepared any

	byUser   bool               // started by the user's command instead of the model
	byPlugin *generation.Plugin // started by the plugin; nil for calls of the model and the user
	template string             // started by the template of the command with this label, of the plugin byPlugin
	outcome  tools.Outcome      // for callFor
}

// runTools runs the calls of a step: they are prepared in the model's order and run in parallel, except that calls that only read files end
// before the next edit is prepared, and an edit before any next call. Every call gets a result.
func (t *turn) runTools(ctx context.Context) (state, error) {
	var running, reading sync.WaitGroup
	for _, c := range t.calls {
		group := &running
		switch tool := t.tools.Find(c.part.Tool); {
		case tool.OnlyReads():
			group = &reading
		case tool.Edits():
			reading.Wait() // an edit requires that its file was read
		}
		t.callTool(ctx, c, group)
	}
	reading.Wait()
	running.Wait()
	if ctx.Err() != nil {
		return stateDone, ctx.Err()
	}
	t.closeStep(live.InterruptedByAbort)
	if t.halted.reason() != nil {
		return stateDone, nil
	}
	return stateDecide, nil
}

// callTool is the only path of a tool call, for every tool and every caller:
//
//	tool.execute.before → schema → permission (permission.ask) → run → tool.execute.after
//
// each exactly once. It returns when the call is prepared, and has ended if it edits files; the rest is added to running.
func (s *step) callTool(ctx context.Context, c *call, running *sync.WaitGroup) {
	if err := s.find(c); err != nil {
		s.conclude(c, s.refused(ctx, cmp.Or(s.watchDoom(ctx, c, c.raw), err)))
		return
	}
	ctx = tools.InCall(ctx)
	if err := s.prepareCall(ctx, c); err != nil {
		s.conclude(c, s.after(ctx, c, s.refused(ctx, err)))
		return
	}
	run := func() { s.conclude(c, s.after(ctx, c, s.execute(ctx, c))) }
	if len(c.paths) > 0 { // the next calls of the answer may read the files, test them or edit the new text
		run()
		return
	}
	running.Go(run) // ends with the tool, which is abandoned soon after ctx ends; the caller waits for running
}

// find reads the arguments and looks up the tool. Hooks are not called for a call that fails here. The model must see its own call: valid
// arguments are kept, and the error quotes the beginning of invalid ones. White space is removed, as in the store, so that requests after
// a restart begin with the same bytes.
func (s *step) find(c *call) error {
	c.host = &callHost{step: s, call: c}
	c.raw = tools.Unwrapped(c.raw)
	err := value.CheckArguments(c.raw)
	if err == nil {
		c.args = json.RawMessage(c.raw)
		if len(c.raw) < longArgs { // a copy of more would cost too much memory
			c.args = jsontext.Compact(c.args)
		}
		s.conv.Locked(func() { c.part.State.Input = c.args })
	}
	c.tool = s.tools.Find(c.part.Tool)
	if c.tool == nil {
		return s.tools.Missing(c.part.Tool)
	}
	s.conv.Locked(func() { c.part.Tool = c.tool.Def.ID })
	switch {
	case c.tool.Hidden && c.byPlugin == nil:
		return tools.Hidden(c.part.Tool)
	case err != nil:
		return tools.Unreadable(c.part.Tool, c.raw, c.cut, err)
	}
	return nil
}

// prepareCall runs the hooks at tool.execute.before, checks the schema, and requests the permissions.
func (s *step) prepareCall(ctx context.Context, c *call) error {
	if s.halted.reason() != nil {
		return &sdk.Refusal{Reason: "the turn was stopped; tool call skipped", By: "an earlier call"}
	}
	if answers := s.wantsStructured() && c.tool.Def.ID == tools.Structured; s.atLimit() && c.byPlugin == nil && !answers {
		return errors.New("step limit reached; tool call skipped")
	}
	if err := s.watchDoom(ctx, c, c.args); err != nil {
		return err
	}
	if err := s.before(ctx, c); err != nil {
		return err
	}
	s.conv.Locked(func() { c.part.State.Input = c.args })
	c.freeLongArgs() // copies of the wire format
	err := s.host.schemas.Check(&c.tool.Def, c.args)
	if err != nil && !s.gen.Engine.Has(sdk.PointToolBefore) { // hooks saw the original arguments
		if args := s.host.schemas.Unquoted(&c.tool.Def, c.args); args != nil {
			c.args, err = args, nil
			s.conv.Locked(func() { c.part.State.Input = c.args })
		}
	}
	c.freeLongArgs()
	if err != nil {
		return fmt.Errorf("the arguments of %s do not match its schema: %w; correct them and call it again", c.part.Tool, err)
	}
	requests, prepared, err := c.tool.Requests(ctx, s.host.log, c.toolCall())
	c.freeLongArgs()
	if err != nil {
		return err
	}
	c.prepared, c.paths = prepared, c.tool.WillWrite(requests)
	if len(requests) > 1 { // do not ask the user about parts of a call that a rule denies
		denied := func(r sdk.PermissionRequest) bool {
			return s.judge(&r, c.tool.Def.ID, c.tool.Origin).Action == sdk.ActionDeny
		}
		requests = requests[max(0, slices.IndexFunc(requests, denied)):]
	}
	for _, r := range requests {
		if err := c.host.Ask(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// watchDoom asks the user whether a call that the model repeats may run again. Calls of plugins are not counted: the model did not make
// them.
func (s *step) watchDoom(ctx context.Context, c *call, args []byte) error {
	if c.byPlugin != nil {
		return nil
	}
	return s.doom.Watch(ctx, s.steps, c.part.Tool, args, c.host.ask)
}

// before runs the hooks at tool.execute.before over the arguments.
func (s *step) before(ctx context.Context, c *call) error {
	if !s.gen.Engine.Has(sdk.PointToolBefore) {
		return nil
	}
	v := &sdk.ToolBeforeValue{}
	if err := json.Unmarshal(c.args, &v.Args); err != nil {
		return err
	}
	original := v.Args.Clone()
	in := c.hookInput(s)
	result, err := s.gen.Engine.Transform(ctx, sdk.PointToolBefore, hooks.Scope{Ledger: s.ledger, Subject: c.part.CallID}, &in, v)
	if err != nil {
		return s.halt(err)
	}
	if result.Verdict == sdk.VerdictDeny || result.Verdict == sdk.VerdictHalt {
		return &sdk.Refusal{Reason: result.Reason, Halt: result.Verdict == sdk.VerdictHalt, By: "plugin " + result.Plugin}
	}
	changes, err := value.Diff[sdk.Change](&original, &v.Args)
	if err != nil || len(changes) == 0 {
		return err // the model's arguments run byte for byte
	}
	c.args, err = json.Marshal(v.Args)
	return err
}

func (c *call) hookInput(s *step) sdk.ToolInput {
	return sdk.ToolInput{
		Tool: c.part.Tool, Origin: c.tool.Origin, SessionID: c.part.SessionID, MessageID: c.part.MessageID,
		CallID: c.part.CallID, Agent: s.Agent.Name, AgentPath: s.AgentPath,
	}
}

func (c *call) toolCall() *sdk.ToolCall {
	p := c.host.step.host.opts.Project
	return &sdk.ToolCall{
		Tool: c.part.Tool, CallID: c.part.CallID, SessionID: c.part.SessionID, MessageID: c.part.MessageID,
		Agent: c.host.step.Agent.Name, Args: c.args, Directory: p.Directory, Worktree: p.Worktree, Host: c.host,
		Prepared: c.prepared,
	}
}

// execute runs the call. Its start record is durable before, so that after a crash it is known which calls may have run. Calls that only
// read files do not wait: it does not matter whether they ran.
func (s *step) execute(ctx context.Context, c *call) tools.Outcome {
	s.conv.Locked(func() {
		c.part.State.Status = sdk.ToolRunning
		c.part.State.Time.Start = live.Now()
	})
	s.put(c)
	watched := s.watchFiles(ctx, c)
	var err error
	if !c.tool.OnlyReads() {
		err = s.conv.Journal.Flush(ctx)
	}
	end := <-watched
	defer end()
	if err != nil {
		return s.refused(ctx, err)
	}
	runCtx := ctx
	if c.tool.Timeout > 0 {
		var cancel context.CancelFunc
		runCtx, cancel = context.WithTimeout(ctx, c.tool.Timeout)
		defer cancel()
	}
	done := make(chan tools.Outcome, 1)
	call := c.toolCall()
	c.prepared = nil                            // only the tool needs it now, and it can be as large as the arguments
	go func() { done <- c.run(runCtx, call) }() // ends when the tool returns; abandoned after abandonAfter
	abandon := make(chan struct{})
	defer context.AfterFunc(runCtx, func() { time.AfterFunc(abandonAfter, func() { close(abandon) }) })()
	var o tools.Outcome
	select {
	case o = <-done:
		c.freeLongArgs()
	case <-abandon:
		o = tools.Outcome{Kind: sdk.OutcomeError, Err: fmt.Errorf("tool %s did not stop and was abandoned", c.part.Tool)}
	}
	switch {
	case ctx.Err() != nil:
		o.Abort(tools.Bounds(s.gen.Config.ToolOutput, s.Model.Limit.Context), c.byPlugin == nil)
	case runCtx.Err() != nil && o.Kind != sdk.OutcomeOK:
		o.Kind, o.Err = sdk.OutcomeError, fmt.Errorf("tool %s did not finish in %s", c.part.Tool, c.tool.Timeout)
	}
	return o
}

// watchFiles records the state of the files that a call may change, in the background. Once the state is recorded, the channel receives the
// function to run after the call. If a command's template makes the call, the message that changes are recorded with does not exist yet.
func (s *step) watchFiles(ctx context.Context, c *call) <-chan func() {
	ends, on := make(chan func(), 1), s.gen.Config.Snapshot
	if on != nil && !*on || c.template != "" || !c.tool.MayWrite() || !s.host.files.On() {
		ends <- func() {}
		return ends
	}
	go func() { ends <- s.undo.Begin(ctx, c.part.MessageID, c.paths) }() // ends with git, which is bounded; the caller waits
	return ends
}

// run calls the tool; a panic is an error of the tool.
func (c *call) run(ctx context.Context, call *sdk.ToolCall) tools.Outcome {
	result, err := hooks.RecoverPanic(ctx, c.host.step.host.log, func(ctx context.Context) (*sdk.ToolResult, error) {
		return c.tool.Execute(ctx, call)
	})
	if errors.Is(err, hooks.ErrPanic) || err == nil && result == nil {
		err = fmt.Errorf("tool %s: %w", c.part.Tool, cmp.Or(err, errNoResult))
	}
	if err != nil {
		o := tools.Failed(c.host.step.haltIfFinal(err))
		o.Result = result
		return o
	}
	return tools.Outcome{Kind: sdk.OutcomeOK, Result: result}
}

var errNoResult = errors.New("returned nothing")

// freeLongArgs frees unused copies of long arguments. Without it, several would accumulate before the next garbage collection.
func (c *call) freeLongArgs() {
	if len(c.args) >= longArgs {
		runtime.GC()
	}
}

// refused returns the outcome of a call that was refused or could not be prepared. A refusal that halts also halts the turn.
func (s *step) refused(ctx context.Context, err error) tools.Outcome {
	if ctx.Err() != nil {
		return tools.Outcome{Kind: sdk.OutcomeAborted, Err: errors.New(live.InterruptedByAbort.Pending)}
	}
	return tools.Failed(s.haltIfFinal(err))
}

// haltIfFinal halts the turn if err is a refusal that halts, or from a hook that must not fail. It returns err.
func (s *step) haltIfFinal(err error) error {
	refusal, refused := errors.AsType[*sdk.Refusal](err)
	if refused && refusal.Halt || errors.As(err, new(*tools.HookError)) {
		return s.halt(err)
	}
	return err
}

// halt ends the turn after this step if err is not nil, unless it is halted already. It returns err. An ended context halts nothing unless a
// hook failed with it: it can be that of one request of a plugin or of one tool call, and the loop notices the end of the turn's.
func (s *step) halt(err error) error {
	ended := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	if errors.As(err, new(*hooks.Error)) || err != nil && !ended {
		s.halted.set(err)
	}
	return err
}

// after runs the hooks at tool.execute.after over any outcome.
func (s *step) after(ctx context.Context, c *call, o tools.Outcome) tools.Outcome {
	if !s.gen.Engine.Has(sdk.PointToolAfter) {
		return o
	}
	v := &sdk.ToolAfterValue{}
	s.conv.Locked(func() { v.Metadata = c.part.State.Metadata }) // from Progress
	if o.Result != nil && (o.Kind == sdk.OutcomeOK || len(o.Result.Metadata) > 0) {
		v.Title, v.Output, v.Metadata, v.Attachments = o.Result.Title, o.Result.Output, o.Result.Metadata, o.Result.Attachments
	}
	if o.Kind != sdk.OutcomeOK {
		v.Output = o.Err.Error()
	}
	in := &sdk.ToolAfterInput{ToolInput: c.hookInput(s), Args: c.args, Outcome: o.Kind}
	// Hooks run for aborted calls, too; their own deadline bounds them.
	if err := s.gen.Fire(context.WithoutCancel(ctx), sdk.PointToolAfter, s.ledger, c.part.CallID, in, v); err != nil {
		return tools.Outcome{Kind: sdk.OutcomeError, Err: s.halt(err), Result: &sdk.ToolResult{}, Hooked: true}
	}
	if o.Kind != sdk.OutcomeOK {
		o.Err = errors.New(v.Output)
		o.Result = &sdk.ToolResult{Metadata: v.Metadata}
		o.Hooked = true
		return o
	}
	o.Result = &sdk.ToolResult{
		Title: v.Title, Output: v.Output, Metadata: v.Metadata, Attachments: v.Attachments, KeepTail: o.Result.KeepTail,
	}
	return o
}

// conclude stores the result of the call in its part.
func (s *step) conclude(c *call, o tools.Outcome) {
	var blobs [][]byte
	c.outcome = o
	s.conv.Locked(func() {
		state := &c.part.State
		state.Time.Start = cmp.Or(state.Time.Start, live.Now())
		var cfg *sdk.ToolOutputConfig
		if c.byPlugin == nil { // a plugin gets all of the result; the conversation does not contain it
			cfg = new(tools.Bounds(s.gen.Config.ToolOutput, s.Model.Limit.Context))
		}
		*state, blobs = o.State(state, cfg)
		for _, f := range state.Attachments {
			f.PartHead = sdk.PartHead{ID: s.conv.IDs.New(sdk.PrefixPart), SessionID: c.part.SessionID, MessageID: c.part.MessageID}
		}
	})
	s.put(c, blobs...)
	if c.part.State.Status != sdk.ToolCompleted {
		return
	}
	for _, f := range tools.StringsOf(c.part.State.Metadata["files"]) { // that the call wrote
		s.publish(sdk.Event{Type: sdk.EventFileEdited, Properties: &sdk.FileEdited{File: f}})
	}
}

// put records the state of the call.
func (s *step) put(c *call, blobs ...[]byte) {
	if c.byPlugin != nil {
		s.publishPluginCall(c)
		return
	}
	s.conv.PutPart(c.part, blobs...)
}
