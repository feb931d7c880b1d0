package view

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/internal/markdown"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// SubjectLength is the maximum length of the subject of a tool call in its line, in characters.
	SubjectLength = 200
	// argumentLength is the maximum number of bytes decoded from an argument. A subject is much shorter.
	argumentLength = 8 << 10
	// errorLength is the maximum length of an error in a line, in characters: enough for a refusal with its remedy.
	errorLength = 600
)

// subjectKeys are the arguments that may describe the subject of a call, the most specific first.
var subjectKeys = [...]string{"command", "filePath", "file_path", "path", "url", "pattern", "query", "description", "name"}

// Subject describes the target of a tool call in a few words. Paths below directory are relative to it.
func Subject(s *sdk.ToolState, directory string) string {
	args := map[string]string{}
	jsontext.EachField(s.Input, func(key, raw []byte) bool {
		if raw[0] == '"' {
			args[jsontext.Name(key)] = beginning(raw)
		}
		return true
	})
	if pattern, ok := args["pattern"]; ok {
		where := args["path"]
		if where != "" {
			where = " in " + relative(where, directory)
		}
		return Clip(terminal.OneLine(pattern+where), SubjectLength)
	}
	for _, key := range subjectKeys {
		value := args[key]
		if value == "" {
			continue
		}
		if strings.Contains(strings.ToLower(key), "path") {
			value = relative(value, directory)
		}
		first, rest, cut := strings.Cut(strings.TrimSpace(value), "\n")
		if cut && strings.TrimSpace(rest) != "" {
			first += " …"
		}
		return Clip(terminal.OneLine(first), SubjectLength)
	}
	return Clip(terminal.OneLine(s.Title), SubjectLength)
}

// beginning decodes at most argumentLength bytes of a JSON string.
func beginning(raw []byte) (text string) {
	end := min(len(raw)-1, argumentLength)
	for end > 0 && json.Unmarshal(slices.Concat(raw[:end], []byte{'"'}), &text) != nil {
		end-- // an escape was cut
	}
	return text
}

// relative returns a path below the directory relative to it, and other paths unchanged.
func relative(path, directory string) string {
	if rel, err := filepath.Rel(directory, path); err == nil && filepath.IsAbs(path) && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

// ChangedLines returns the numbers of lines that a finished call added and removed; ok is false if it changed no file. It prefers numbers in the
// metadata, because the diff of a long change is cut.
func ChangedLines(metadata sdk.Object) (added, removed int, ok bool) {
	diff, _ := metadata["diff"].(string)
	if diff == "" {
		return 0, 0, false
	}
	numbers, one := metadata["filediff"].(map[string]any)
	if !one {
		numbers = metadata // a change of several files
	}
	a, okA := Number(numbers["additions"])
	r, okR := Number(numbers["deletions"])
	if okA && okR {
		return int(a), int(r), true
	}
	added, removed = CountLines(diff)
	return added, removed, true
}

// CountLines counts the lines that a unified diff of any number of files adds and removes.
func CountLines(diff string) (added, removed int) {
	var reader markdown.DiffReader
	for line := range strings.SplitSeq(diff, "\n") {
		switch reader.Line(line) {
		case markdown.KindAdded:
			added++
		case markdown.KindRemoved:
			removed++
		}
	}
	return added, removed
}

// lastLine returns the last non-empty line of a command's output.
func lastLine(metadata sdk.Object) string {
	output, _ := metadata["output"].(string)
	lines := OutputLines(visible.Tail(output, argumentLength))
	if len(lines) == 0 {
		return ""
	}
	return Clip(terminal.OneLine(lines[len(lines)-1]), SubjectLength)
}

// Number returns a number in metadata: a Go value in the process of the call, decoded JSON elsewhere.
func Number(v any) (int64, bool) {
	switch v := v.(type) {
	case int:
		return int64(v), true
	case float64:
		return int64(v), true
	}
	return 0, false
}

// toolLine returns the line of a finished call. Unless rich, it ends with the last line of the output; else, the output follows below.
func toolLine(c *terminal.Screen, p *sdk.ToolPart, directory string, depth int, rich bool) string {
	s := &p.State
	mark, look := c.Paint(terminal.Green, "✓"), terminal.Dim
	var notes []string
	if added, removed, ok := ChangedLines(s.Metadata); ok {
		notes = append(notes, fmt.Sprintf("+%d -%d", added, removed))
	}
	code, ran := Number(s.Metadata["exit"])
	if ran && code != 0 {
		notes = append(notes, fmt.Sprintf("exit %d", code))
		mark, look = c.Paint(terminal.Yellow, "!"), terminal.Yellow
	}
	if ran && !rich {
		notes = append(notes, lastLine(s.Metadata))
	}
	if s.Time.End > s.Time.Start {
		notes = append(notes, Duration(time.Duration(s.Time.End-s.Time.Start)*time.Millisecond))
	}
	if s.Status != sdk.ToolError {
		return callLine(c, p, depth, mark, Subject(s, directory), look, notes...)
	}
	line := callLine(c, p, depth, c.Paint(terminal.Red, "✗"), Subject(s, directory), look, notes...)
	return line + "\n" + strings.Repeat("  ", depth+1) + c.Paint(terminal.Red, Clip(terminal.OneLine(s.Error), errorLength))
}

// callLine returns a line about a call. Subject and notes may be empty; each note follows a dot.
func callLine(c *terminal.Screen, p *sdk.ToolPart, depth int, mark, subject string, look terminal.Look, notes ...string) string {
	words := []string{strings.Repeat("  ", depth) + mark, c.Paint(terminal.Bold, terminal.OneLine(p.Tool)), subject}
	if notes = filled(notes); len(notes) > 0 {
		words = append(words, c.Paint(look, "· "+strings.Join(notes, " · ")))
	}
	return strings.Join(filled(words), " ")
}

// filled removes empty texts from a list.
func filled(list []string) []string {
	return slices.DeleteFunc(list, func(text string) bool { return text == "" })
}

const (
	// headLines and tailLines are the numbers of lines shown from the beginning and the end of a tool's output.
	headLines, tailLines = 4, 4
	// diffLength is the maximum number of lines shown of a change.
	diffLength = 20
	// outputIndent precedes each line of output.
	outputIndent = "    "
)

// outputLines returns the lines to show below the line of a finished call: the first and last lines of its output, or its change.
func outputLines(c *terminal.Screen, p *sdk.ToolPart, width int) []string {
	s := &p.State
	var lines []string
	if diff, _ := s.Metadata["diff"].(string); diff != "" {
		style := c.Style()
		lines = style.Diff(diff)
		if len(lines) > diffLength {
			lines = append(lines[:diffLength:diffLength], c.Paint(terminal.Dim, "… "+Plural(len(lines)-diffLength, "more line")))
		}
	} else if s.Status == sdk.ToolCompleted && showsOutput(p) {
		for _, line := range excerpt(s) {
			lines = append(lines, c.Paint(terminal.Dim, line))
		}
	}
	for i, line := range lines {
		lines[i] = outputIndent + terminal.Fit(line, max(width-len(outputIndent), 1))
	}
	return lines
}

// showsOutput reports whether the output of a call adds information to its line. Files that were read and lists shown elsewhere do not.
func showsOutput(p *sdk.ToolPart) bool {
	switch p.Tool {
	case "read", "write", "edit", "apply_patch", "todowrite", "task", "skill", "question", "webfetch", "tool_search":
		return false
	}
	return true
}

// excerpt returns the first and last lines of a call's output, safe to print.
func excerpt(s *sdk.ToolState) []string {
	output, ok := s.Metadata["output"].(string)
	if !ok {
		output = s.Output
	}
	lines := OutputLines(output)
	hidden := len(lines) - headLines - tailLines
	if hidden > 1 { // the line that marks the gap replaces one line
		mark := "… " + Plural(hidden, "line")
		lines = slices.Concat(lines[:headLines], []string{mark}, lines[len(lines)-tailLines:])
	}
	return lines
}

// runningLine returns the live line of a running call.
func runningLine(c *terminal.Screen, p *sdk.ToolPart, received int, directory string, depth int, now time.Time) string {
	s, mark := &p.State, c.Paint(terminal.Cyan, "◦")
	if s.Status == sdk.ToolPending {
		return callLine(c, p, depth, mark, c.Paint(terminal.Dim, fmt.Sprintf("%d bytes of arguments", received)), terminal.Dim)
	}
	running := ""
	if took := now.Sub(time.UnixMilli(s.Time.Start)); s.Time.Start > 0 && took >= time.Second {
		running = Duration(took.Truncate(time.Second))
	}
	return callLine(c, p, depth, mark, Subject(s, directory), terminal.Dim, running, lastLine(s.Metadata))
}

// maxOutput is the number of bytes that are shown of an output, from its end.
const maxOutput = 256 << 10

// carriage matches carriage returns at the end of a line, and the text that another one overwrites.
var carriage = lazyregexp.New(`(?m)\r+$|^.*\r([^\r\n])`)

// Plain returns the output of a program without colors and without the text that it has overwritten, such as the states of a progress bar.
func Plain(output string) string {
	if output = terminal.StripSGR(output); !strings.Contains(output, "\r") { // the expression is slow
		return output
	}
	return carriage().ReplaceAllString(output, "$1")
}

// OutputLines returns the lines of a program's output, safe to print.
func OutputLines(output string) []string {
	output = terminal.Visible(strings.TrimRight(Plain(visible.Tail(output, maxOutput)), "\r\n "))
	output = strings.ReplaceAll(strings.TrimLeft(output, "\n"), "\t", "    ")
	if output == "" {
		return nil
	}
	return strings.Split(output, "\n")
}
