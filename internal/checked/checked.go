// Package checked reads JSON written by users, repositories and plugins. It keeps details that encoding/json drops (lines and columns,
// exact and duplicate names, kinds) and compares values with the Go types they are decoded into. Each problem has its place and, if
// possible, a remedy.
//
//	Source ── Parse ──► Node ── Checker (with a type and Rules) ──► a tree, or a decoded value
//	                                      └──► Report: problems and warnings
package checked

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/internal/visible"
)

const (
	// maxProblems is the default maximum number of problems, and the maximum number of warnings, of a Report.
	maxProblems = 50
	// maxKey is the maximum length of a key in the text of a problem, in bytes.
	maxKey = 300
)

// Problem is an error or a warning at one place.
type Problem struct {
	File    string // a path, a variable, a flag, or another name of the text
	Line    int    // from 1; 0 for a text without lines
	Column  int    // from 1, in characters; 0 for a text without lines
	Key     string // provider.x.options; empty for the whole text
	Message string
	Remedy  string // may be empty
}

// String returns the problem as "file:line:column: key: message; remedy".
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 && p.File == "" {
		fmt.Fprintf(&b, "line %d, column %d", p.Line, p.Column)
	} else if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	if p.Key != "" {
		b.WriteString(": " + visible.Cut(p.Key, maxKey, "…"))
	}
	b.WriteString(": " + p.Message)
	if p.Remedy != "" {
		b.WriteString("; " + p.Remedy)
	}
	return b.String()
}

// Error lists problems. It wraps Kind.
type Error struct {
	Kind     error
	Problems []Problem // at least one
	Omitted  int       // number of further problems
}

// Error returns the problems, one per line.
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

// Unwrap returns Kind.
func (e *Error) Unwrap() error { return e.Kind }

// Report collects problems and warnings. The zero value is ready to use.
type Report struct {
	Problems []Problem
	Warnings []Problem
	Omitted  int // number of problems beyond Most
	Most     int // maximum number of Problems; default 50
}

// Add adds a problem.
func (r *Report) Add(p Problem) {
	if len(r.Problems) >= cmp.Or(r.Most, maxProblems) {
		r.Omitted++
		return
	}
	r.Problems = append(r.Problems, p)
}

// Warn adds a warning.
func (r *Report) Warn(p Problem) {
	if len(r.Warnings) < maxProblems {
		r.Warnings = append(r.Warnings, p)
	}
}

// Err returns an *Error of this kind with the problems, or nil if there are none.
func (r *Report) Err(kind error) error {
	if len(r.Problems) == 0 {
		return nil
	}
	return &Error{Kind: kind, Problems: r.Problems, Omitted: r.Omitted}
}

func (r *Report) count() int { return len(r.Problems) + r.Omitted }
