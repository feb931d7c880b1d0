package main

import (
	"fmt"
	"strings"
	"time"
)

// table lays columns out for people. The last column is cut to the width of the terminal.
type table struct {
	rows [][]string
}

// add appends a row; its cells must not contain control characters.
func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// text returns the table; width 0 does not cut.
func (t *table) text(width int) string {
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], columns(cell))
		}
	}
	var b strings.Builder
	for _, row := range t.rows {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(cell)
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-columns(cell)+2))
			}
		}
		text := strings.TrimRight(line.String(), " ")
		if width > 0 {
			text = fit(text, width)
		}
		b.WriteString(text + "\n")
	}
	return b.String()
}

func columns(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// writeTable prints a table to stdout.
func (a *app) writeTable(t *table) error {
	width := 0
	if a.screen.streams {
		width = a.screen.width()
	}
	return a.write(t.text(width))
}

// writeJSON prints a value to stdout, indented.
func (a *app) writeJSON(v any) error {
	enc := newEncoder(a.out)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return outputError(err)
	}
	return nil
}

// ago says how long something is past, and beyond a week its date.
func ago(millis int64, now time.Time) string {
	t := time.UnixMilli(millis)
	switch d := now.Sub(t); {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return plural(int(d/time.Minute), "minute") + " ago"
	case d < 24*time.Hour:
		return plural(int(d/time.Hour), "hour") + " ago"
	case d < 7*24*time.Hour:
		return plural(int(d/(24*time.Hour)), "day") + " ago"
	}
	return t.Format("2006-01-02")
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

func was(n int, word string) string {
	if n == 1 {
		return "1 " + word + " was"
	}
	return plural(n, word) + " were"
}
