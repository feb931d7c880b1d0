package commandhooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
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

// run starts a command and waits until it ends or ctx ends. in is sent to its standard input as JSON; confine is that of Source. When run
// returns, the command and its process group have ended.
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
	flooded := make(chan string, 2)
	var streams sync.WaitGroup // the goroutines end when the group has ended or the pipes are closed
	streams.Go(func() {
		_, _ = pipes.Stdin.Write(input) // the command need not read its input
		_ = pipes.Stdin.Close()
	})
	streams.Go(func() { o.stdout = collect(pipes.Stdout, "standard output", flooded) })
	streams.Go(func() { o.stderr = collect(pipes.Stderr, "standard error", flooded) })
	err = wait(ctx, cmd, flooded)
	// Also kill the command's background processes, which hold the pipes.
	killErr := errors.Join(child.Kill(cmd), leave())
	pipes.Drain(drainTime)
	streams.Wait()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.Exited():
		o.code = exit.ExitCode()
	case errors.As(err, &exit):
		return nil, fmt.Errorf("the command was ended by %s", exit.ProcessState)
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("the command exceeded its timeout and was killed: %w", err)
	case err != nil:
		return nil, err
	}
	if len(o.stdout) > maxOutput || len(o.stderr) > maxOutput {
		return nil, fmt.Errorf("the command wrote more than %d bytes", maxOutput)
	}
	return o, killErr
}

// wait waits for the command, and kills it if ctx ends or an output is too long.
func wait(ctx context.Context, cmd *exec.Cmd, flooded <-chan string) error {
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // ends with the process, which is waited for below
	var err error
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		err = ctx.Err()
	case name := <-flooded:
		err = fmt.Errorf("the command wrote more than %d bytes to its %s and was killed", maxOutput, name)
	}
	err = errors.Join(err, child.Kill(cmd))
	<-ended
	return err
}

// collect reads at most one byte more than allowed. It ignores read errors: the exit code decides.
func collect(f *os.File, name string, flooded chan<- string) []byte {
	data, _ := io.ReadAll(io.LimitReader(f, maxOutput+1))
	if len(data) > maxOutput {
		flooded <- name
	}
	return data
}
