package process

import (
	"errors"
	"io"
	"os"
	"strings"
)

// untilEnd is a text whose end is read when the process ends.
type untilEnd struct {
	*strings.Reader
	ended <-chan struct{}
}

// Read reads the text, then waits.
func (u *untilEnd) Read(p []byte) (int, error) {
	if u.Len() > 0 {
		return u.Reader.Read(p)
	}
	<-u.ended
	return 0, io.EOF
}

// Close does nothing.
func (u *untilEnd) Close() error { return nil }

// pipes are the standard streams of a process that is to be started.
type pipes struct {
	all []pipe
	err error
}

type pipe struct{ ours, theirs *os.File }

func (p *pipes) in() pipe  { return p.add(func(r, w *os.File) pipe { return pipe{w, r} }) }
func (p *pipes) out() pipe { return p.add(func(r, w *os.File) pipe { return pipe{r, w} }) }

func (p *pipes) add(ends func(r, w *os.File) pipe) pipe {
	r, w, err := os.Pipe()
	if err != nil {
		p.err = errors.Join(p.err, err)
		return pipe{}
	}
	made := ends(r, w)
	p.all = append(p.all, made)
	return made
}

func (p *pipes) closeOurs() {
	for _, made := range p.all {
		_ = made.ours.Close()
	}
}

func (p *pipes) closeTheirs() {
	for _, made := range p.all {
		_ = made.theirs.Close()
	}
}
