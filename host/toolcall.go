package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/generation"
	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/tools"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// abandonAfter is how long a tool may take to return once its context ended. Then its call is answered
	// without it.
	abandonAfter = 5 * time.Second
	// longArgs is the size in bytes of arguments whose copies are collected as soon as they are not used any more.
	longArgs = 1 << 20
)

// call is one tool call on its way.
type call struct {
	part  *sdk.ToolPart // stored when the model, or the user, asked for the call
	raw   []byte        // the arguments as the model wrote them
	cut   bool          // the answer reached the output limit, perhaps in the arguments
	tool  *tools.Tool
	args  json.RawMessage // as they run
	host  *callHost
	paths []string // the files it says it will write
	// prepared is what a compiled-in tool keeps from Prepare to Execute.
	prepared any

	byUser   bool               // the user's command asked for it, not the model
	byPlugin *generation.Plugin // asked for it; nil for the model's and the user's calls
	template string             // of a command, with its file, whose template asked for it; byPlugin brings the command
	outcome  tools.Outcome      // of a plugin's call
}

// runTools runs the calls of a step: prepared in the model's order, run side by side. Every call gets a
// result.
func (t *turn) runTools(ctx context.Context) (state, error) {
	var running sync.WaitGroup
	for _, c := range t.calls {
		t.callTool(ctx, c, &running)
	}
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

// callTool is the one way a tool call takes, whoever owns the tool and whoever started it:
//
//	tool.execute.before → schema → permission (permission.ask) → run → tool.execute.after
//
// each exactly once. It returns when the call is prepared; running waits for the rest.
func (t *turn) callTool(ctx context.Context, c *call, running *sync.WaitGroup) {
	if err := t.find(c); err != nil {
		if doom := t.watchDoom(ctx, c, c.raw); doom != nil {
			err = doom
		}
		t.conclude(c, t.refused(ctx, err))
		return
	}
	if c.tool.Hidden && c.byPlugin == nil {
		metadata, err := t.tools.Introduction(ctx, c.tool)
		t.conclude(c, tools.Outcome{Kind: sdk.OutcomeError, Err: t.hookFailed(err), Result: &sdk.ToolResult{Metadata: metadata}})
		return
	}
	ctx = tools.InCall(ctx, c.part.CallID)
	if err := t.prepareCall(ctx, c); err != nil {
		t.conclude(c, t.after(ctx, c, t.refused(ctx, err)))
		return
	}
	// Ends when the tool does, or is abandoned, soon after ctx ends; runTools waits.
	running.Go(func() { t.conclude(c, t.after(ctx, c, t.execute(ctx, c))) })
}

// watchDoom asks the user whether a call that the model repeats may run again. Calls of plugins are not watched: a plugin does not run in circles
// because the model does.
func (t *turn) watchDoom(ctx context.Context, c *call, args []byte) error {
	if c.byPlugin != nil {
		return nil
	}
	return t.doom.Watch(ctx, c.part.Tool, args, c.host.Ask)
}

// hookFailed ends the turn when the error is of a hook that must not fail.
func (t *turn) hookFailed(err error) error {
	if _, ok := errors.AsType[*tools.HookError](err); ok {
		return t.stopBy(err)
	}
	return err
}

// find reads the arguments and looks the tool up. Hooks are not called for a call that fails here. The model must see the call that it made: the
// arguments are kept, or the error quotes the beginning of arguments that are refused.
func (t *turn) find(c *call) error {
	c.host = &callHost{t: t, c: c}
	err := value.CheckArguments(c.raw)
	if err == nil {
		c.args = json.RawMessage(c.raw)
		t.c.Locked(func() { c.part.State.Input = c.args })
	}
	c.tool = t.tools.Find(c.part.Tool)
	if c.tool == nil {
		return fmt.Errorf("tool %q not found; the tools are: %s", c.part.Tool, t.tools.Names())
	}
	t.c.Locked(func() { c.part.Tool = c.tool.Def.ID })
	if err != nil {
		return tools.Unreadable(c.part.Tool, c.raw, c.cut, err)
	}
	return nil
}

// prepareCall takes the call through the hooks, the schema and the permissions.
func (t *turn) prepareCall(ctx context.Context, c *call) error {
	if t.halted.reason() != nil {
		return &sdk.Refusal{Reason: "not run: the turn was stopped", By: "an earlier call"}
	}
	if t.atLimit() && c.byPlugin == nil {
		return errors.New("not run: the step limit is reached, tools can no longer be called")
	}
	if err := t.watchDoom(ctx, c, c.args); err != nil {
		return err
	}
	if err := t.before(ctx, c); err != nil {
		return err
	}
	t.c.Locked(func() { c.part.State.Input = c.args })
	c.collect() // the wire format's
	err := t.h.schemas.Check(&c.tool.Def, c.args)
	c.collect()
	if err != nil {
		return fmt.Errorf("the arguments of %s do not meet its schema: %w; rewrite the call so that they do", c.part.Tool, err)
	}
	requests, prepared, err := c.tool.Requests(ctx, t.h.log, c.toolCall())
	c.collect()
	if err != nil {
		return err
	}
	c.prepared, c.paths = prepared, tools.WillWrite(c.tool, requests)
	for _, r := range requests {
		if err := c.host.Ask(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// before runs the hooks at tool.execute.before over the arguments.
func (t *turn) before(ctx context.Context, c *call) error {
	if !t.g.Engine.Has(sdk.PointToolBefore) {
		return nil
	}
	v := &sdk.ToolBeforeValue{}
	if err := json.Unmarshal(c.args, &v.Args); err != nil {
		return err
	}
	original := v.Args.Clone()
	in := c.input(t)
	result, err := t.g.Engine.Transform(ctx, sdk.PointToolBefore, hooks.Scope{Ledger: t.ledger, Subject: c.part.CallID}, &in, v)
	if err != nil {
		return t.stopBy(err)
	}
	if result.Verdict == sdk.VerdictDeny || result.Verdict == sdk.VerdictHalt {
		return &sdk.Refusal{Reason: result.Reason, Halt: result.Verdict == sdk.VerdictHalt, By: "plugin " + result.Plugin}
	}
	changes, err := value.Diff[sdk.Change](&original, &v.Args)
	if err != nil || len(changes) == 0 {
		return err // what the model wrote runs byte for byte
	}
	c.args, err = json.Marshal(v.Args)
	return err
}

// stopBy ends the turn after this step and returns err; the first reason stays.
func (t *turn) stopBy(err error) error {
	t.halted.set(err)
	return err
}

func (c *call) input(t *turn) sdk.ToolInput {
	return sdk.ToolInput{
		Tool: c.part.Tool, Origin: c.tool.Origin, SessionID: c.part.SessionID, MessageID: c.part.MessageID,
		CallID: c.part.CallID, Agent: t.Agent.Name, AgentPath: t.AgentPath,
	}
}

func (c *call) toolCall() *sdk.ToolCall {
	p := c.host.t.h.opts.Project
	return &sdk.ToolCall{
		Tool: c.part.Tool, CallID: c.part.CallID, SessionID: c.part.SessionID, MessageID: c.part.MessageID,
		Agent: c.host.t.Agent.Name, Args: c.args, Directory: p.Directory, Worktree: p.Worktree, Host: c.host,
		Prepared: c.prepared,
	}
}

// refused turns a failed preparation into an outcome; one that halts ends the turn after this step.
func (t *turn) refused(ctx context.Context, err error) tools.Outcome {
	if ctx.Err() != nil {
		return tools.Outcome{Kind: sdk.OutcomeAborted, Err: errors.New(live.InterruptedByAbort.Pending)}
	}
	return tools.Failed(t.refusedByUser(err))
}

// execute runs the call. Its start record is durable before it starts: after a crash no one has to guess
// whether it may have run.
func (t *turn) execute(ctx context.Context, c *call) tools.Outcome {
	t.c.Locked(func() {
		c.part.State.Status = sdk.ToolRunning
		c.part.State.Time.Start = live.Now()
	})
	t.put(c)
	wrote := t.watchFiles(ctx, c)
	err := t.c.Journal.Flush(ctx)
	defer wrote()() // as soon as the files' states are known, and again when the call is over
	if err != nil {
		return t.refused(ctx, err)
	}
	runCtx := ctx
	if c.tool.Timeout > 0 {
		var cancel context.CancelFunc
		runCtx, cancel = context.WithTimeout(ctx, c.tool.Timeout)
		defer cancel()
	}
	done := make(chan tools.Outcome, 1)
	call := c.toolCall()
	c.prepared = nil                            // the tool's from here on: it can be as large as the arguments
	go func() { done <- c.run(runCtx, call) }() // ends when the tool returns; abandoned abandonAfter ctx ended
	select {
	case o := <-done:
		c.collect()
		return t.judge(ctx, runCtx, c, o)
	case <-runCtx.Done():
	}
	select {
	case o := <-done:
		return t.judge(ctx, runCtx, c, o)
	case <-time.After(abandonAfter):
		return t.judge(ctx, runCtx, c, tools.Outcome{Kind: sdk.OutcomeError, Err: fmt.Errorf("tool %s did not stop and was abandoned", c.part.Tool)})
	}
}

// collect gives back the copies of long arguments that the last step of the call made. The collector would wait until there are several.
func (c *call) collect() {
	if len(c.args) >= longArgs {
		runtime.GC()
	}
}

// run calls the tool; a panic is an error of the tool.
func (c *call) run(ctx context.Context, call *sdk.ToolCall) tools.Outcome {
	result, err := hooks.Contain(ctx, c.host.t.h.log, func(ctx context.Context) (*sdk.ToolResult, error) {
		return c.tool.Execute(ctx, call)
	})
	if errors.Is(err, hooks.ErrPanic) || err == nil && result == nil {
		err = fmt.Errorf("tool %s: %w", c.part.Tool, cmp.Or(err, errNoResult))
	}
	if err != nil {
		o := tools.Failed(c.host.t.hookFailed(err))
		o.Result = result
		return o
	}
	return tools.Outcome{Kind: sdk.OutcomeOK, Result: result}
}

var errNoResult = errors.New("returned nothing")

// judge tells a call that was aborted, or ran out of time, from one that ended by itself.
func (t *turn) judge(ctx, runCtx context.Context, c *call, o tools.Outcome) tools.Outcome {
	switch {
	case ctx.Err() != nil:
		o.Kind, o.Err = sdk.OutcomeAborted, errors.New(live.InterruptedByAbort.Running)
	case runCtx.Err() != nil && o.Kind != sdk.OutcomeOK:
		o.Kind, o.Err = sdk.OutcomeError, fmt.Errorf("tool %s did not finish in %s", c.part.Tool, c.tool.Timeout)
	case o.Kind == sdk.OutcomeDenied:
		return t.refused(ctx, o.Err)
	}
	return o
}

// after runs the hooks at tool.execute.after over the outcome, whatever it is.
func (t *turn) after(ctx context.Context, c *call, o tools.Outcome) tools.Outcome {
	if !t.g.Engine.Has(sdk.PointToolAfter) {
		return o
	}
	v := &sdk.ToolAfterValue{}
	t.c.Locked(func() { v.Metadata = c.part.State.Metadata }) // what the call showed so far
	if o.Result != nil && (o.Kind == sdk.OutcomeOK || len(o.Result.Metadata) > 0) {
		v.Title, v.Output, v.Metadata, v.Attachments = o.Result.Title, o.Result.Output, o.Result.Metadata, o.Result.Attachments
	}
	if o.Kind != sdk.OutcomeOK {
		v.Output = o.Err.Error()
	}
	in := &sdk.ToolAfterInput{ToolInput: c.input(t), Args: c.args, Outcome: o.Kind}
	// Hooks run for aborted calls, too; their own deadline bounds them.
	if err := t.g.Fire(context.WithoutCancel(ctx), sdk.PointToolAfter, t.ledger, c.part.CallID, in, v); err != nil {
		return tools.Outcome{Kind: sdk.OutcomeError, Err: t.stopBy(err), Result: &sdk.ToolResult{}, Hooked: true}
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

// put records the call as it is.
func (t *turn) put(c *call, blobs ...[]byte) {
	if c.byPlugin != nil {
		t.publishPluginCall(c)
		return
	}
	t.c.PutPart(c.part, blobs...)
}

// conclude stores the result of the call in its part.
func (t *turn) conclude(c *call, o tools.Outcome) {
	var blobs [][]byte
	c.outcome = o
	t.c.Locked(func() {
		s := &c.part.State
		s.Time.Start = cmp.Or(s.Time.Start, live.Now())
		cfg := &t.g.Config.ToolOutput
		if c.byPlugin != nil { // the result is the plugin's, not the conversation's
			cfg = nil
		}
		*s, blobs = o.State(s, cfg)
		for _, f := range s.Attachments {
			f.PartHead = sdk.PartHead{ID: t.c.IDs.New(sdk.PrefixPart), SessionID: c.part.SessionID, MessageID: c.part.MessageID}
		}
	})
	t.put(c, blobs...)
	t.publishEdits(c.part)
}

// publishEdits tells of the files that a call says it wrote (metadata "files").
func (t *turn) publishEdits(p *sdk.ToolPart) {
	if p.State.Status != sdk.ToolCompleted {
		return
	}
	for _, f := range tools.StringsOf(p.State.Metadata["files"]) {
		t.c.Journal.Put(nil, sdk.Event{Type: sdk.EventFileEdited, Properties: &sdk.FileEdited{File: f}})
	}
}

// writes reports whether a call may write files whose states have to be noted.
func (t *turn) writes(c *call) bool {
	if on := t.g.Config.Snapshot; on != nil && !*on {
		return false
	}
	if c.template != "" {
		return false // the user's own doing, before the message that changes could be noted with
	}
	return c.tool.MayWrite() && t.h.files.On()
}

// watchFiles begins to note what a call does to files, while other things are done. The function it returns waits until it has
// begun, and returns one to call when the call is over.
func (t *turn) watchFiles(ctx context.Context, c *call) (begun func() (end func())) {
	if !t.writes(c) {
		return func() func() { return func() {} }
	}
	ends := make(chan func(), 1)
	go func() { ends <- t.k.Begin(ctx, c.part.MessageID, c.paths) }() // ends with git, which is bounded; the caller waits
	return func() func() { return <-ends }
}
