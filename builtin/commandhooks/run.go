package commandhooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/internal/confine"
)

// maxOutput bounds what a command may write to each of its outputs, in bytes. A command that writes more is ended.
const maxOutput = 1 << 20

// drainTime bounds the wait for a pipe that a process holds which left the command's group, and so outlived it.
const drainTime = 200 * time.Millisecond

// command is one run of a shell command.
type command struct {
	text  string
	dir   string
	env   []string
	input any // goes to standard input, as JSON
	// confine returns what the command reaches; nil: everything.
	confine func() (confine.Policy, error)
}

// output is what a command that ended by itself left.
type output struct {
	stdout, stderr []byte
	code           int
}

// run starts the command and waits for it, or until ctx ends. When it returns the command and all of its process group are gone.
func (c *command) run(ctx context.Context) (*output, error) {
	input, err := json.Marshal(c.input)
	if err != nil {
		return nil, fmt.Errorf("encode the input: %w", err)
	}
	cmd := shell(c.text)
	cmd.Dir, cmd.Env = c.dir, c.env
	child.Prepare(cmd)
	pipes, err := connect(cmd)
	if err != nil {
		return nil, err
	}
	leave, err := c.start(cmd)
	if err != nil {
		pipes.abandon()
		return nil, fmt.Errorf("start the shell: %w", err)
	}
	pipes.start(input)
	waited := make(chan error, 1)
	go func() { waited <- cmd.Wait() }() // ends with the process, which the following lines see to
	select {
	case err = <-waited:
	case <-ctx.Done():
		err = errors.Join(ctx.Err(), child.Kill(cmd))
		<-waited
	case which := <-pipes.flooded:
		err = errors.Join(fmt.Errorf("the command wrote more than %d bytes to its %s and was ended", maxOutput, which), child.Kill(cmd))
		<-waited
	}
	// What the command left in the background goes with it, and lets go of the pipes.
	killErr := errors.Join(child.Kill(cmd), leave())
	o := pipes.finish()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.Exited():
		o.code = exit.ExitCode()
	case errors.As(err, &exit):
		return nil, fmt.Errorf("the command was ended by %s", exit.ProcessState)
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("the command ran out of time and was ended: %w", err)
	case err != nil:
		return nil, err
	}
	if len(o.stdout) > maxOutput || len(o.stderr) > maxOutput {
		return nil, fmt.Errorf("the command wrote more than %d bytes", maxOutput)
	}
	return o, killErr
}

// start starts the command where it belongs. leave cleans up when it has ended.
func (c *command) start(cmd *exec.Cmd) (leave func() error, err error) {
	if c.confine == nil {
		return func() error { return nil }, cmd.Start()
	}
	policy, err := c.confine()
	if err != nil {
		return nil, err
	}
	cell, err := child.NewCell(policy)
	if err != nil {
		return nil, fmt.Errorf("confine it: %w", err)
	}
	cmd.Env = cell.Environ(cmd.Env)
	if err := cell.Start(cmd); err != nil {
		return nil, errors.Join(err, cell.Close())
	}
	return cell.Close, nil
}

// pipes are the ends of a command's standard files that stay here, and what is read from them.
type pipes struct {
	theirs         []*os.File
	stdin          *os.File
	stdout, stderr *os.File
	flooded        chan string // the name of an output that is too long

	written   chan struct{}
	out, errs chan []byte
}

// connect gives the command its standard files. exec would do it, too, but then wait for whoever holds them.
func connect(cmd *exec.Cmd) (*pipes, error) {
	p := &pipes{flooded: make(chan string, 2), written: make(chan struct{}), out: make(chan []byte, 1), errs: make(chan []byte, 1)}
	inRead, inWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.theirs, p.stdin = append(p.theirs, inRead), inWrite
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		p.abandon()
		return nil, err
	}
	p.theirs, p.stdout = append(p.theirs, outWrite), outRead
	errRead, errWrite, err := os.Pipe()
	if err != nil {
		p.abandon()
		return nil, err
	}
	p.theirs, p.stderr = append(p.theirs, errWrite), errRead
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inRead, outWrite, errWrite
	return p, nil
}

// abandon closes everything of a command that was not started.
func (p *pipes) abandon() {
	for _, f := range append(p.theirs, p.stdin, p.stdout, p.stderr) {
		if f != nil {
			_ = f.Close() // nothing was written to it
		}
	}
}

// start writes the input and reads the outputs. The goroutines end when the command's group is gone or finish closes the pipes, and
// finish waits for them.
func (p *pipes) start(input []byte) {
	for _, f := range p.theirs {
		_ = f.Close() // our copy of what the command has
	}
	go func() {
		defer close(p.written)
		_, _ = p.stdin.Write(input) // a command that does not read its input is fine
		_ = p.stdin.Close()
	}()
	go func() { p.out <- p.read(p.stdout, "standard output") }()
	go func() { p.errs <- p.read(p.stderr, "standard error") }()
}

// read returns what comes, up to one byte more than is allowed. A pipe that breaks ends it, too: the exit code tells the rest.
func (p *pipes) read(f *os.File, name string) []byte {
	data, _ := io.ReadAll(io.LimitReader(f, maxOutput+1))
	if len(data) > maxOutput {
		p.flooded <- name
	}
	return data
}

// finish waits for the goroutines.
func (p *pipes) finish() *output {
	stop := time.AfterFunc(drainTime, p.close)
	o := &output{stdout: <-p.out, stderr: <-p.errs}
	stop.Stop()
	p.close()
	<-p.written
	return o
}

func (p *pipes) close() {
	for _, f := range []*os.File{p.stdin, p.stdout, p.stderr} {
		_ = f.Close() // twice is fine, and what was to be read was read
	}
}
