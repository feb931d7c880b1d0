package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/tenonhq/tenon/sdk"
)

const (
	// subjectLength bounds what a tool call touches, in its line.
	subjectLength = 200
	// errorLength bounds an error in a line; a refusal, which says what to do, fits.
	errorLength = 600
)

// sgr is what programs colour their output with.
var sgr = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// subjectKeys are the arguments that say what a call touches, the most telling first.
var subjectKeys = [...]string{"command", "filePath", "file_path", "path", "url", "pattern", "query", "description", "name"}

// subject says in a few words what a tool call touches.
func subject(s *sdk.ToolState, directory string) string {
	var args map[string]any
	if json.Unmarshal(s.Input, &args) != nil {
		return oneLine(s.Title)
	}
	if pattern, ok := args["pattern"].(string); ok {
		where, _ := args["path"].(string)
		if where != "" {
			where = " in " + relative(where, directory)
		}
		return clip(oneLine(pattern+where), subjectLength)
	}
	for _, key := range subjectKeys {
		value, ok := args[key].(string)
		if !ok || value == "" {
			continue
		}
		if strings.Contains(strings.ToLower(key), "path") {
			value = relative(value, directory)
		}
		first, rest, cut := strings.Cut(strings.TrimSpace(value), "\n")
		if cut && strings.TrimSpace(rest) != "" {
			first += " …"
		}
		return clip(oneLine(first), subjectLength)
	}
	return clip(oneLine(s.Title), subjectLength)
}

// relative shortens a path below the directory.
func relative(path, directory string) string {
	if rel, err := filepath.Rel(directory, path); err == nil && filepath.IsAbs(path) && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

// details are the figures of a finished call: what it changed, how a command ended.
func details(s *sdk.ToolState) []string {
	var out []string
	if added, removed, ok := diffSize(s.Metadata); ok {
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

// diffSize counts the lines that the unified diff of a call added and removed.
func diffSize(metadata sdk.Object) (added, removed int, ok bool) {
	diff, ok := metadata["diff"].(string)
	if !ok || diff == "" {
		return 0, 0, false
	}
	for line := range strings.Lines(diff) {
		switch {
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"):
		case line[0] == '+':
			added++
		case line[0] == '-':
			removed++
		}
	}
	return added, removed, true
}

// lastLine is the last line of a command's output that has anything in it.
func lastLine(metadata sdk.Object) string {
	output, _ := metadata["output"].(string)
	output = strings.TrimSpace(sgr.ReplaceAllString(output, ""))
	if i := strings.LastIndexByte(output, '\n'); i >= 0 {
		output = output[i+1:]
	}
	if i := strings.LastIndexByte(output, '\r'); i >= 0 {
		output = output[i+1:] // what a progress bar left on the line
	}
	return clip(oneLine(output), subjectLength)
}

// number reads a number of metadata, which is a Go value while the call's process runs and JSON afterwards.
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

// toolLine is the line of a finished call.
func (c *screen) toolLine(p *sdk.ToolPart, directory string, depth int) string {
	s := &p.State
	mark, name := c.paint(styleGreen, "✓"), visible(p.Tool)
	if s.Status == sdk.ToolError {
		mark = c.paint(styleRed, "✗")
	}
	words := []string{strings.Repeat("  ", depth) + mark, c.paint(styleBold, name)}
	if subject := subject(s, directory); subject != "" {
		words = append(words, subject)
	}
	notes := details(s)
	if s.Time.End > s.Time.Start {
		notes = append(notes, duration(time.Duration(s.Time.End-s.Time.Start)*time.Millisecond))
	}
	if len(notes) > 0 {
		words = append(words, c.paint(styleDim, "· "+strings.Join(notes, " · ")))
	}
	line := strings.Join(words, " ")
	if s.Status == sdk.ToolError {
		line += "\n" + strings.Repeat("  ", depth+1) + c.paint(styleRed, clip(oneLine(s.Error), errorLength))
	}
	return line
}

// runningLine is the live line of a call that is under way.
func (c *screen) runningLine(p *sdk.ToolPart, received int, directory string, depth int, now time.Time) string {
	s := &p.State
	words := []string{strings.Repeat("  ", depth) + c.paint(styleCyan, "◦"), c.paint(styleBold, visible(p.Tool))}
	if s.Status == sdk.ToolPending {
		words = append(words, c.paint(styleDim, fmt.Sprintf("%d bytes of arguments", received)))
		return strings.Join(words, " ")
	}
	if subject := subject(s, directory); subject != "" {
		words = append(words, subject)
	}
	var notes []string
	if took := now.Sub(time.UnixMilli(s.Time.Start)); s.Time.Start > 0 && took >= time.Second {
		notes = append(notes, duration(took.Truncate(time.Second)))
	}
	if last := lastLine(s.Metadata); last != "" {
		notes = append(notes, last)
	}
	if len(notes) > 0 {
		words = append(words, c.paint(styleDim, "· "+strings.Join(notes, " · ")))
	}
	return strings.Join(words, " ")
}

// clip cuts text to so many characters.
func clip(text string, most int) string {
	n, end := 0, 0
	for i := range text {
		if n == most {
			return text[:end] + "…"
		}
		if n++; n == most {
			end = i // where the last character begins that fits
		}
	}
	return text
}

// duration writes a time as people do: 12 ms, 2.3 s, 1m 02s.
func duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute && d%time.Second == 0:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm %02ds", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%dh %02dm", d/time.Hour, d%time.Hour/time.Minute)
}

// count writes a number of tokens in at most four characters.
func count(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 100_000:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}

// money writes an amount in dollars to four places; less than that shows as "<$0.0001".
func money(u sdk.USD) string {
	const place = 100_000_000 // picodollars in $0.0001
	if u > 0 && u < place {
		return "<$0.0001"
	}
	tenths := (int64(u) + place/2) / place
	return fmt.Sprintf("$%d.%04d", tenths/10_000, tenths%10_000)
}
