package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/sdk"
)

// Plural returns a number with a noun, to which it appends an "s" unless the number is 1.
func Plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// Offered describes what an MCP server offers, and for withheld items the command that shows why. argument is the server's name on the command
// line.
func Offered(tools, withheld int, argument string) string {
	text := Plural(tools, "tool")
	if withheld > 0 {
		text += fmt.Sprintf(", %s withheld: tenon mcp tools %s shows why", Plural(withheld, "item"), argument)
	}
	return text
}

// Clip shortens text to a maximum number of characters.
func Clip(text string, max int) string {
	n, end := 0, 0
	for i := range text {
		if n == max {
			return text[:end] + "…"
		}
		if n++; n == max {
			end = i // start of the last character that fits
		}
	}
	return text
}

// Duration formats a duration, such as 12 ms, 2.3 s or 1m 02s.
func Duration(d time.Duration) string {
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

// Ago formats the time since an event, or its date if that is more than a week ago.
func Ago(millis int64, now time.Time) string {
	t := time.UnixMilli(millis)
	d := now.Sub(t)
	if d >= 7*24*time.Hour {
		return t.Format("2006-01-02")
	}
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}} {
		if n := d / unit.size; n > 0 {
			return Plural(int(n), unit.name) + " ago"
		}
	}
	return "now"
}

// Count formats a number of tokens in few characters, such as 950, 1.5k or 2.0M.
func Count(n int64) string {
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

// Limit formats a number of tokens; unknown (0) is "-".
func Limit(n int64) string {
	if n == 0 {
		return "-"
	}
	return Count(n)
}

// Money formats an amount in dollars with four decimal places; smaller amounts are "<$0.0001".
func Money(u sdk.USD) string {
	const place = 100_000_000 // picodollars in $0.0001
	if u > 0 && u < place {
		return "<$0.0001"
	}
	tenths := (int64(u) + place/2) / place
	return fmt.Sprintf("$%d.%04d", tenths/10_000, tenths%10_000)
}

// Usage formats the tokens of model requests and their cost.
func Usage(t sdk.Tokens, cost sdk.USD) string {
	reasoning := ""
	if t.Reasoning > 0 {
		reasoning = " (" + Count(t.Reasoning) + " reasoning)"
	}
	return fmt.Sprintf("%s · %s out%s · %s", inputText(t), Count(t.Output+t.Reasoning), reasoning, Money(cost))
}

// inputText formats the tokens that models received, with those of them that came from a cache.
func inputText(t sdk.Tokens) string {
	in := Count(t.Input+t.Cache.Read+t.Cache.Write) + " in"
	if t.Cache.Read > 0 {
		in += " (" + Count(t.Cache.Read) + " cached)"
	}
	return in
}

// RuleText returns a rule as one line.
func RuleText(r sdk.PermissionRule) string {
	return terminal.OneLine(fmt.Sprintf("%s %q %s", r.Permission, r.Pattern, r.Action))
}

// Table aligns text in columns. Lines are cut to the width of the terminal.
type Table struct {
	Indent string   // before each line
	Head   []string // constant names of the columns, above the rows; may be nil
	rows   [][]string
}

// Add appends a row. The text of each cell becomes one line that cannot control the terminal.
func (t *Table) Add(cells ...string) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = terminal.OneLine(cell)
	}
	t.rows = append(t.rows, row)
}

// Text returns the table with lines cut to width columns; 0 means no limit. It is empty without rows.
func (t *Table) Text(width int) string {
	rows := t.rows
	if t.Head != nil && len(rows) > 0 {
		rows = slices.Insert(slices.Clone(rows), 0, t.Head)
	}
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], terminal.Columns(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		line.WriteString(t.Indent)
		for i, cell := range row {
			line.WriteString(cell)
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-terminal.Columns(cell)+2))
			}
		}
		text := strings.TrimRight(line.String(), " ")
		if width > 0 {
			text = terminal.Fit(text, width)
		}
		b.WriteString(text + "\n")
	}
	return b.String()
}
