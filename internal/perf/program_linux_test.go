package perf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"github.com/charmbracelet/x/vt"

	"github.com/tenonhq/tenon/internal/ptytest"
)

// program is a program on its own terminal.
type program struct {
	cmd     *exec.Cmd
	control *os.File
	changed chan struct{}
	done    sync.WaitGroup

	mu       sync.Mutex
	emulator *vt.Emulator
	written  int
}

// startProgram starts a command on a terminal of this size. The caller closes the program.
func startProgram(cmd *exec.Cmd, rows, columns int) (*program, error) {
	control, side, err := ptytest.Open(rows, columns)
	if err != nil {
		return nil, err
	}
	defer side.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = side, side, side
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, control.Close())
	}
	p := &program{cmd: cmd, control: control, changed: make(chan struct{}, 1), emulator: vt.NewEmulator(columns, rows)}
	p.done.Go(p.read)                                         // ends with the program, which closes the terminal
	p.done.Go(func() { _, _ = io.Copy(control, p.emulator) }) // answers questions of the program; ends in Close
	return p, nil
}

func (p *program) read() {
	buf := make([]byte, 64<<10)
	for {
		n, err := p.control.Read(buf)
		p.mu.Lock()
		_, _ = p.emulator.Write(buf[:n])
		p.written += n
		p.mu.Unlock()
		select {
		case p.changed <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// Close kills the program and its children, unless it has ended.
func (p *program) Close() error {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	_ = p.cmd.Wait() // it was killed
	err := errors.Join(p.control.Close(), p.emulator.Close())
	p.done.Wait()
	return err
}

// Type types text.
func (p *program) Type(text string) error {
	_, err := p.control.WriteString(text)
	return err
}

// Written returns the number of bytes that the program wrote so far.
func (p *program) Written() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.written
}

// Screen returns the lines of the screen.
func (p *program) Screen() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return ptytest.Screen(p.emulator)
}

// Until waits for a screen.
func (p *program) Until(ctx context.Context, is func(screen string) bool) error {
	for !is(p.Screen()) {
		select {
		case <-p.changed:
		case <-ctx.Done():
			return fmt.Errorf("%w; the screen is\n%s", ctx.Err(), p.Screen())
		}
	}
	return nil
}
