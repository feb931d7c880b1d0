package view

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// SubjectLength is the maximum length of the subject of a tool call in its line, in characters.
	SubjectLength = 200
	// argumentLength is the maximum number of bytes that are decoded of an argument. A subject is a fraction of it.
	argumentLength = 8 << 10
	// errorLength is the maximum length of an error in a line, in characters. A refusal with its remedy fits.
	errorLength = 600
)

// sgr matches the color sequences in the output of programs.
var sgr = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// subjectKeys are the arguments that describe the subject of a call, the most specific first.
var subjectKeys = [...]string{"command", "filePath", "file_path", "path", "url", "pattern", "query", "description", "name"}

// subject describes in a few words what a tool call is about.
func subject(s *sdk.ToolState, directory string) string {
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

// beginning decodes a JSON string, of a long one its first argumentLength bytes.
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

// details returns the figures of a finished call: changed lines, exit code, last line of output.
func details(s *sdk.ToolState) []string {
	var out []string
	if diff, _ := s.Metadata["diff"].(string); diff != "" {
		added, removed := CountLines(diff)
		out = append(out, fmt.Sprintf("+%d -%d", added, removed))
	}
	if code, ok := number(s.Metadata["exit"]); ok {
		if code != 0 {
			out = append(out, fmt.Sprintf("exit %d", code))
		}
		if last := lastLine(s.Metadata); last != "" {
			out = append(out, last)
		}
	}
	return out
}

// CountLines counts the lines that a unified diff of any number of files adds and removes.
func CountLines(diff string) (added, removed int) {
	lines := strings.Split(diff, "\n")
	for i := 0; i < len(lines); i++ {
		switch next := lines[min(i+1, len(lines)-1)]; {
		case strings.HasPrefix(lines[i], "--- ") && strings.HasPrefix(next, "+++ "):
			i++ // the names of a file
		case strings.HasPrefix(lines[i], "+"):
			added++
		case strings.HasPrefix(lines[i], "-"):
			removed++
		}
	}
	return added, removed
}

// lastLine returns the last non-empty line of a command's output.
func lastLine(metadata sdk.Object) string {
	output, _ := metadata["output"].(string)
	output = strings.TrimSpace(sgr.ReplaceAllString(output, ""))
	if i := strings.LastIndexByte(output, '\n'); i >= 0 {
		output = output[i+1:]
	}
	if i := strings.LastIndexByte(output, '\r'); i >= 0 {
		output = output[i+1:] // the last state of a progress bar
	}
	return Clip(terminal.OneLine(output), SubjectLength)
}

// number reads a number of metadata: a Go value in the process of the call, else decoded JSON.
func number(v any) (int64, bool) {
	switch v := v.(type) {
	case int:
		return int64(v), true
	case int64:
		return v, true
	case float64:
		return int64(v), true
	case json.Number:
		n, err := v.Int64()
		return n, err == nil
	}
	return 0, false
}

// toolLine returns the line of a finished call.
func toolLine(c *terminal.Screen, p *sdk.ToolPart, directory string, depth int) string {
	s := &p.State
	mark, name := c.Paint(terminal.Green, "✓"), terminal.Visible(p.Tool)
	if s.Status == sdk.ToolError {
		mark = c.Paint(terminal.Red, "✗")
	}
	words := []string{strings.Repeat("  ", depth) + mark, c.Paint(terminal.Bold, name)}
	if subject := subject(s, directory); subject != "" {
		words = append(words, subject)
	}
	notes := details(s)
	if s.Time.End > s.Time.Start {
		notes = append(notes, Duration(time.Duration(s.Time.End-s.Time.Start)*time.Millisecond))
	}
	if len(notes) > 0 {
		words = append(words, c.Paint(terminal.Dim, "· "+strings.Join(notes, " · ")))
	}
	line := strings.Join(words, " ")
	if s.Status == sdk.ToolError {
		line += "\n" + strings.Repeat("  ", depth+1) + c.Paint(terminal.Red, Clip(terminal.OneLine(s.Error), errorLength))
	}
	return line
}

// runningLine returns the live line of a running call.
func runningLine(c *terminal.Screen, p *sdk.ToolPart, received int, directory string, depth int, now time.Time) string {
	s := &p.State
	words := []string{strings.Repeat("  ", depth) + c.Paint(terminal.Cyan, "◦"), c.Paint(terminal.Bold, terminal.Visible(p.Tool))}
	if s.Status == sdk.ToolPending {
		words = append(words, c.Paint(terminal.Dim, fmt.Sprintf("%d bytes of arguments", received)))
		return strings.Join(words, " ")
	}
	if subject := subject(s, directory); subject != "" {
		words = append(words, subject)
	}
	var notes []string
	if took := now.Sub(time.UnixMilli(s.Time.Start)); s.Time.Start > 0 && took >= time.Second {
		notes = append(notes, Duration(took.Truncate(time.Second)))
	}
	if last := lastLine(s.Metadata); last != "" {
		notes = append(notes, last)
	}
	if len(notes) > 0 {
		words = append(words, c.Paint(terminal.Dim, "· "+strings.Join(notes, " · ")))
	}
	return strings.Join(words, " ")
}

// Subject describes in a few words what a tool call is about. Paths below directory are relative to it.
func Subject(s *sdk.ToolState, directory string) string { return subject(s, directory) }

// Number reads a number of metadata: a Go value in the process of the call, else decoded JSON.
func Number(v any) (int64, bool) { return number(v) }
