package commandhooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/internal/confine"
)

const (
	maxAsync     = 16               // async commands of a source at a time
	maxAsyncTime = 10 * time.Minute // maximum duration of an async command; the dialect's default timeout
)

// levelTrace is hooks.LevelTrace.
const levelTrace = slog.LevelDebug - 4

// maxOutput is the maximum size of each output of a command in bytes. A command that writes more is killed.
const maxOutput = 1 << 20

// drainTime is the maximum wait for a pipe held by a process that left the command's group and so outlived it.
const drainTime = 200 * time.Millisecond

// output is the result of a command that tenon did not end.
type output struct {
	input          []byte
	stdout, stderr []byte
	code           int    // -1: a signal ended it
	ended          string // how
}

// call runs the command with the input and returns its answer. Errors name the command's position in its source.
func (e *entry) call(ctx context.Context, session string, input map[string]any) (*reply, error) {
	input["session_id"] = session
	input["cwd"] = e.plugin.project.Directory
	input["hook_event_name"] = e.event
	input["permission_mode"] = "default"
	data, err := json.Marshal(input) // the caller uses the input again
	if err != nil {
		return nil, e.wrap(err)
	}
	if e.async {
		e.background(ctx, data)
		return &reply{}, nil
	}
	return e.answer(ctx, session, data)
}

// wrap adds the command's position to an error.
func (e *entry) wrap(err error) error {
	return fmt.Errorf("%s: %s: %w", e.plugin.source.Where, e.where, err)
}

// background runs the command and does not wait for it. Its answer decides nothing.
func (e *entry) background(ctx context.Context, input []byte) {
	p := e.plugin
	select {
	case p.slots <- struct{}{}:
	default:
		p.log.Warn("async command hook not run: too many are running", "source", p.source.Where, "hook", e.where)
		return
	}
	ctx = context.WithoutCancel(ctx)
	if !p.running.Go(func() { // ends with the command, by its timeout or by Close
		defer func() { <-p.slots }()
		if _, err := e.answer(ctx, "", input); err != nil && p.running.Life().Err() == nil {
			p.log.Warn("async command hook failed", "err", err)
		}
	}) {
		<-p.slots
	}
}

// answer runs the command, or asks the model, and returns the answer.
func (e *entry) answer(ctx context.Context, session string, input []byte) (r *reply, err error) {
	var out *output
	if e.asks {
		r, err = e.ask(ctx, session, string(input))
	} else {
		out, err = e.run(ctx, input)
	}
	if out != nil { // err is of what remains after the command
		e.plugin.log.Log(ctx, levelTrace, "hook called", "source", e.plugin.source.Where, "hook", e.where,
			"input", fmt.Sprintf("%.4096s", input), "code", out.code, "stdout", fmt.Sprintf("%.4096s", out.stdout), "stderr", fmt.Sprintf("%.4096s", out.stderr))
		left := err
		if r, err = out.reply(e); err == nil && left != nil && (r.verdict > allow || e.event == postToolUse && r.newOutput != nil) {
			e.plugin.log.Warn("command hook left something behind", "source", e.plugin.source.Where, "hook", e.where, "err", left)
		} else {
			err = errors.Join(err, left)
		}
	}
	if s := &e.plugin.source; err != nil {
		if s.Confine != nil && !e.asks && confine.Refused(err.Error()) {
			err = fmt.Errorf("%w; the command runs confined; to exempt it, add %s to sandbox.unconfined in your configuration", err, s.Name)
		}
		return nil, e.wrap(err)
	}
	if r.system != "" {
		e.plugin.log.Warn("message of a command hook", "text", r.system, "source", e.plugin.source.Where, "hook", e.where)
	}
	return r, nil
}

// run starts the command, unless the plugin is closed.
func (e *entry) run(ctx context.Context, input []byte) (*output, error) {
	p := e.plugin
	if !p.running.Begin() {
		return nil, errors.New("not run: tenon is shutting down")
	}
	defer p.running.End()
	ctx, release := p.running.Bound(ctx)
	defer release()
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	if p.source.Confine == nil {
		return run(ctx, e.process(ctx), input, nil)
	}
	p.git.Enter(ctx)
	out, err := run(ctx, e.process(ctx), input, p.source.Confine)
	for _, note := range p.git.Leave(context.WithoutCancel(ctx), true) {
		p.log.Warn("programs that git runs automatically were changed while a command hook ran", "source", p.source.Where, "hook", e.where, "change", note)
	}
	return out, err
}

// process returns the process of the command.
func (e *entry) process(ctx context.Context) *exec.Cmd {
	p := e.plugin
	cmd := shell(ctx, e.command, p.project.Worktree)
	if e.args != nil {
		var variables []string
		for _, variable := range p.environ {
			name, value, _ := strings.Cut(variable, "=")
			variables = append(variables, "${"+name+"}", value)
		}
		expand := strings.NewReplacer(variables...).Replace
		cmd = exec.CommandContext(ctx, expand(e.command))
		for _, arg := range e.args {
			cmd.Args = append(cmd.Args, expand(arg))
		}
	}
	cmd.Dir, cmd.Env = p.project.Directory, p.environ
	return cmd
}

// run runs a command, which ctx ends. input is sent to its standard input; confine is that of Source. When run returns, the command
// and its process group have ended.
func run(ctx context.Context, cmd *exec.Cmd, input []byte, confine func() (confine.Policy, error)) (*output, error) {
	pipes, leave, err := child.StartConnected(cmd, confine)
	if err != nil {
		return nil, fmt.Errorf("start the command: %w", err)
	}
	defer pipes.Close()
	o := &output{input: input}
	var streams sync.WaitGroup // the goroutines end when the group has ended or the pipes are closed
	streams.Go(func() {
		_, _ = pipes.Stdin.Write(input) // the command need not read its input
		_ = pipes.Stdin.Close()
	})
	read := func(f *os.File) []byte {
		data := collect(f)
		if len(data) > maxOutput {
			_ = child.Kill(cmd)
		}
		return data
	}
	streams.Go(func() { o.stdout = read(pipes.Stdout) })
	streams.Go(func() { o.stderr = read(pipes.Stderr) })
	err = cmd.Wait()
	// Also kill the command's background processes, which hold the pipes.
	killErr := errors.Join(child.Kill(cmd), leave())
	pipes.Drain(drainTime)
	streams.Wait()
	exit, _ := errors.AsType[*exec.ExitError](err)
	switch {
	case len(o.stdout) > maxOutput:
		return nil, fmt.Errorf("the command wrote more than %d bytes to its standard output and was killed", maxOutput)
	case len(o.stderr) > maxOutput:
		return nil, fmt.Errorf("the command wrote more than %d bytes to its standard error and was killed", maxOutput)
	case exit != nil && (ctx.Err() == nil || exit.Exited() && runtime.GOOS != "windows"): // on Windows, a killed process has exited, too
		o.code, o.ended = exit.ExitCode(), exit.String()
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, fmt.Errorf("the command exceeded its timeout and was killed: %w", ctx.Err())
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, err
	}
	return o, killErr
}

// collect reads a stream until it ends or drainTime has passed. If tenon itself was stopped for that time, the output is still in the pipe: it is
// read then, because without it a refusal would be a permission.
func collect(f *os.File) []byte {
	limited := io.LimitReader(f, maxOutput+1)
	data, err := io.ReadAll(limited) // the exit code decides, not a read error
	if errors.Is(err, os.ErrDeadlineExceeded) {
		_ = f.SetReadDeadline(time.Now().Add(drainTime))
		late, _ := io.ReadAll(limited)
		data = append(data, late...)
	}
	return data
}
