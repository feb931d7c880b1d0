package config

import (
	"errors"
	"fmt"
	"strings"
)

// ErrConfig is wrapped by every error about the configuration's content.
var ErrConfig = errors.New("invalid configuration")

// maxProblems bounds how many problems one Error lists; who has more than that repairs the first ones first.
const maxProblems = 50

// Problem is one thing wrong, or worth a warning, at one place of the configuration.
type Problem struct {
	File   string // a path, relative when it is below the working directory; or a variable; or a flag
	Line   int    // from 1; 0 when the source has no lines
	Column int    // from 1, in characters; 0 when the source has no lines
	Key    string // "provider.x.options"; empty for the whole file
	// Message says what is wrong, Remedy what to do about it. Remedy may be empty.
	Message string
	Remedy  string
}

// String returns the problem as "file:line:column: key: message; remedy".
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	if p.Key != "" {
		b.WriteString(": " + p.Key)
	}
	b.WriteString(": " + p.Message)
	if p.Remedy != "" {
		b.WriteString("; " + p.Remedy)
	}
	return b.String()
}

// Error lists what is wrong in all sources of the configuration. It wraps ErrConfig.
type Error struct {
	Problems []Problem // at least one, in the order of the layers
	Omitted  int       // how many more there were
}

// Error returns one problem a line.
func (e *Error) Error() string {
	lines := make([]string, 0, len(e.Problems)+1)
	for _, p := range e.Problems {
		lines = append(lines, p.String())
	}
	if e.Omitted > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", e.Omitted))
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns ErrConfig.
func (e *Error) Unwrap() error { return ErrConfig }

// report collects problems and warnings while sources are read.
type report struct {
	problems []Problem
	warnings []Problem
	omitted  int
}

func (r *report) problem(p Problem) {
	if len(r.problems) >= maxProblems {
		r.omitted++
		return
	}
	r.problems = append(r.problems, p)
}

func (r *report) warn(p Problem) {
	if len(r.warnings) < maxProblems {
		r.warnings = append(r.warnings, p)
	}
}

func (r *report) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	return &Error{Problems: r.problems, Omitted: r.omitted}
}
