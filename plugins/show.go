package plugins

import (
	"encoding/json"
	"strings"

	"github.com/tenonhq/tenon/plugins/trust"
)

// Clean makes a stranger's words fit for a terminal: it takes out what moves the cursor, colours, hides or breaks lines, and bounds
// their length.
func Clean(s string) string { return clean(s) }

// ChangesText writes what is different from what was approved before; nothing for what is approved, or new.
func ChangesText(b *strings.Builder, d trust.Decision) {
	w := &text{}
	w.changes(d)
	b.WriteString(w.b.String())
}

// Flagged reports whether the command line names the plugin: commands that are not given its path may not find it.
func (i *Item) Flagged() bool { return i.entry != nil && i.entry.Flag }

// Required reports whether the configuration says that a run without the plugin must not go on.
func (i *Item) Required() bool { return i.required }

// Options returns what the user set for the plugin; empty when nothing.
func (i *Item) Options() json.RawMessage { return i.options }
