package manifest

import (
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// maxProblems bounds how many problems one Error lists.
const maxProblems = 20

// Problem is one error at one place of a package.
type Problem struct {
	File    string // a path, or another origin of the text
	Field   string // as in extensions["io.github.tenonhq"].hooks[2].point; empty for the whole file
	Message string
	Remedy  string // may be empty
}

// String returns "file: field: message; remedy".
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Field != "" {
		b.WriteString(": " + p.Field)
	}
	b.WriteString(": " + p.Message)
	if p.Remedy != "" {
		b.WriteString("; " + p.Remedy)
	}
	return b.String()
}

// Error lists the problems of a package. It wraps sdk.ErrManifest.
type Error struct {
	Problems []Problem // at least one
	Omitted  int       // number of further problems
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

// Unwrap returns sdk.ErrManifest.
func (*Error) Unwrap() error { return sdk.ErrManifest }

// report collects the problems of one file.
type report struct {
	file     string
	problems []Problem
	omitted  int
}

func (r *report) add(field, remedy, format string, args ...any) {
	if len(r.problems) == maxProblems {
		r.omitted++
		return
	}
	r.problems = append(r.problems, Problem{r.file, field, fmt.Sprintf(format, args...), remedy})
}

func (r *report) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	return &Error{r.problems, r.omitted}
}

// texts returns the problems as lines, for warnings.
func (r *report) texts() []string {
	var out []string
	for _, p := range r.problems {
		out = append(out, p.String())
	}
	if r.omitted > 0 {
		out = append(out, fmt.Sprintf("%s: and %d more", r.file, r.omitted))
	}
	return out
}

// quoted shortens and quotes text from outside for a message.
func quoted(s string) string {
	const most = 80
	if len(s) > most {
		return fmt.Sprintf("%q…", visible.Cut(s, most, ""))
	}
	return fmt.Sprintf("%q", s)
}
