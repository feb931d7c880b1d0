package commandhooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/internal/confine"
)

// maxOutput is the maximum size of each output of a command in bytes. A command that writes more is killed.
const maxOutput = 1 << 20

// drainTime is the maximum wait for a pipe held by a process that left the command's group and so outlived it.
const drainTime = 200 * time.Millisecond

// output is the result of a command that ended by itself.
type output struct {
	input          []byte
	stdout, stderr []byte
	code           int
}

// run runs a command, which ctx ends. in is sent to its standard input as JSON; confine is that of Source. When run returns, the command
// and its process group have ended.
func run(ctx context.Context, cmd *exec.Cmd, in any, confine func() (confine.Policy, error)) (*output, error) {
	input, err := json.Marshal(in)
	if err != nil {
		return nil, fmt.Errorf("encode the input: %w", err)
	}
	child.Prepare(cmd)
	pipes, err := child.Connect(cmd)
	if err != nil {
		return nil, err
	}
	defer pipes.Close()
	leave, err := child.Start(cmd, confine)
	pipes.Started()
	if err != nil {
		return nil, fmt.Errorf("start the command: %w", err)
	}
	o := &output{input: input}
	var streams sync.WaitGroup // the goroutines end when the group has ended or the pipes are closed
	streams.Go(func() {
		_, _ = pipes.Stdin.Write(input) // the command need not read its input
		_ = pipes.Stdin.Close()
	})
	collect := func(f *os.File) []byte {
		data, _ := io.ReadAll(io.LimitReader(f, maxOutput+1)) // the exit code decides, not a read error
		if len(data) > maxOutput {
			_ = child.Kill(cmd)
		}
		return data
	}
	streams.Go(func() { o.stdout = collect(pipes.Stdout) })
	streams.Go(func() { o.stderr = collect(pipes.Stderr) })
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
	case exit != nil && exit.Exited() && (runtime.GOOS != "windows" || ctx.Err() == nil): // on Windows, a killed process has exited, too
		o.code = exit.ExitCode()
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, fmt.Errorf("the command exceeded its timeout and was killed: %w", ctx.Err())
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case exit != nil:
		return nil, fmt.Errorf("the command was ended by %s", exit.ProcessState)
	case err != nil:
		return nil, err
	}
	return o, killErr
}
