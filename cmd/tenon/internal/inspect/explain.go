package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
)

func (g *group) explain(cmd *cobra.Command, args []string) error {
	if cmd.Flags().Changed("step") && g.step < 1 {
		return cli.UsageError("steps are numbered from 1", "invalid step %d", g.step)
	}
	if g.JSON {
		return g.OnSession(func(ctx context.Context, s store.Store, info *sdk.Session) error {
			return g.explainSession(ctx, s, info, nil)
		})(cmd, args)
	}
	return g.OnHost(func(ctx context.Context, m *cli.Machine, info *sdk.Session) error {
		return g.explainSession(ctx, m.Store, info, m.Hooks)
	})(cmd, args)
}

// Explained describes the hook calls of one message.
type Explained struct {
	Step      int              `json:"step,omitempty"` // number in the session, from 1; 0: outside of steps
	MessageID string           `json:"messageID"`
	Purpose   sdk.Purpose      `json:"purpose"`
	Entries   []hooks.Entry    `json:"entries"`
	Conflicts []hooks.Conflict `json:"conflicts"`

	values *values // nil: only hashes are shown
}

// explainSession prints the hook calls of a session; see ReadLedger.
func (g *group) explainSession(ctx context.Context, s store.Store, info *sdk.Session, current func() []hooks.HookInfo) error {
	list, steps, err := ReadLedger(ctx, s, info.ID, current, g.WithoutDamage)
	if err != nil {
		return err
	}
	if g.step > steps {
		return cli.UsageError("tenon explain without --step shows all steps", "session %s has only %s, not %d", info.ID, view.Plural(steps, "step"), g.step)
	}
	if g.step > 0 {
		list = slices.DeleteFunc(list, func(e Explained) bool { return e.Step != g.step })
	}
	if g.JSON {
		return g.PrintJSON(append([]Explained{}, list...))
	}
	if len(list) == 0 {
		g.Say("no hook was called in %s; tenon hooks lists all hooks", info.ID)
		return nil
	}
	c := g.Screen.ForStdout()
	var b strings.Builder
	ExplainRequests(c, &b, list)
	return g.Print(g.Mask.Clean(b.String()))
}

// ledgerDamage returns the error for a ledger entry that cannot be decoded.
func ledgerDamage(session, message string) error {
	return &store.DamageError{Rows: []store.Damage{{Type: store.DamagedLedger, Session: session, Message: message, Problem: "its content cannot be decoded"}}}
}

// ReadLedger returns the hook calls of a session in stored order, and the number of steps. current returns the hooks of all plugins; if nil,
// ExplainRequests shows only hashes of values. leftOut handles errors about damage.
func ReadLedger(ctx context.Context, s store.Store, session string, current func() []hooks.HookInfo, leftOut func(error) error) ([]Explained, int, error) {
	rows, err := s.Ledger(ctx, session, "")
	if err = leftOut(err); err != nil {
		return nil, 0, err
	}
	messages, err := s.Messages(ctx, session, store.Page{})
	if err = leftOut(err); err != nil {
		return nil, 0, err
	}
	stepOf := map[string]int{}
	for i := range messages {
		if m, ok := messages[i].Info.(*sdk.AssistantMessage); ok && !m.Summary {
			stepOf[m.ID] = len(stepOf) + 1
		}
	}
	var list []Explained
	for _, row := range rows {
		e := Explained{Step: stepOf[row.MessageID], MessageID: row.MessageID, Purpose: row.Purpose}
		if err := json.Unmarshal(row.Entries, &e.Entries); err != nil {
			_ = leftOut(ledgerDamage(session, row.MessageID)) // reports it
			continue
		}
		e.Conflicts = append([]hooks.Conflict{}, hooks.Conflicts(e.Entries)...)
		list = append(list, e)
	}
	if current != nil {
		reveal(list, messages, current())
	}
	return list, len(stepOf), nil
}

// ExplainRequests writes the hook calls of messages. Those of one message may be stored in several entries: turn.stop is called after the step.
func ExplainRequests(c *terminal.Screen, b *strings.Builder, list []Explained) {
	for i := range list {
		e := &list[i]
		if i == 0 || e.MessageID != list[i-1].MessageID || e.Purpose != list[i-1].Purpose {
			head := fmt.Sprintf("step %d", e.Step)
			if e.Step == 0 {
				head = "outside of steps"
			}
			if i > 0 {
				b.WriteByte('\n')
			}
			fmt.Fprintf(b, "%s %s\n", c.Paint(terminal.Bold, head), c.Paint(terminal.Dim, fmt.Sprintf("· %s · %s", e.Purpose, e.MessageID)))
		}
		for i := range e.Entries {
			explainEntry(c, b, &e.Entries[i], e.values)
		}
		for _, conflict := range e.Conflicts {
			fmt.Fprintf(b, "  %s\n", c.Paint(terminal.Yellow, fmt.Sprintf(
				"conflict: %s: %s was changed by %s; %s won", conflict.Point, pointerText(conflict.Pointer), terminal.Visible(strings.Join(conflict.Plugins, ", ")), terminal.Visible(conflict.Winner))))
		}
	}
}

func explainEntry(c *terminal.Screen, b *strings.Builder, e *hooks.Entry, v *values) {
	hook := terminal.OneLine(e.Plugin)
	if e.Version != "" {
		hook += " " + terminal.OneLine(e.Version)
	}
	if e.Hook != string(e.Point) {
		hook += " hook " + terminal.OneLine(e.Hook)
	}
	took := micros(e.DurationUS)
	if e.Subject != "" {
		took += " · " + terminal.OneLine(e.Subject)
	}
	outcome := string(e.Outcome)
	if e.Outcome == hooks.OutcomeError || e.Outcome == hooks.OutcomeTimeout {
		outcome = c.Paint(terminal.Red, outcome)
	}
	fmt.Fprintf(b, "  %s  %s  %s %s\n", e.Point, hook, outcome, c.Paint(terminal.Dim, took))
	if e.Error != "" {
		fmt.Fprintf(b, "      %s\n", c.Paint(terminal.Red, terminal.OneLine(e.Error)))
	}
	if e.Reason != "" {
		fmt.Fprintf(b, "      because: %s\n", terminal.OneLine(e.Reason))
	}
	for _, change := range e.Changes {
		before, after := v.show(e, change)
		fmt.Fprintf(b, "      %s  %s → %s\n", pointerText(change.Pointer), cmp.Or(before, "nothing"), cmp.Or(after, "nothing"))
	}
	for _, pointer := range e.Dropped {
		fmt.Fprintf(b, "      %s\n", c.Paint(terminal.Yellow, terminal.Visible(pointer)+"  dropped: the hook does not declare that it writes this field"))
	}
}

func micros(us int64) string {
	if us < 1000 {
		return fmt.Sprintf("%d µs", us)
	}
	return view.Duration(time.Duration(us) * time.Microsecond)
}

// pointerText formats a JSON pointer. The empty one is the whole value.
func pointerText(pointer string) string { return cmp.Or(terminal.OneLine(pointer), "(all)") }

const (
	// maxValues limits the stored values that are compared with the hashes of a session.
	maxValues = 1 << 20
	// shownValue is the maximum length of a shown value, in characters.
	shownValue = 120
	// maxSmall is the largest integer that is recognized by its hash; maxLimit is the largest multiple of 500 and 1024, such as limits of tokens.
	maxSmall, maxLimit = 10_000, 1_000_000
	// maxHundredths is the largest recognized decimal number, in hundredths: temperatures are below 10.
	maxHundredths = 1000
)

// values maps hashes in the ledger to values. It finds the values in stored messages, and among usual numbers and words of parameters.
type values struct {
	wanted map[string]bool
	found  map[string]string
	left   int
	stop   map[string]bool // by hook: whether its onError is stop
}

// reveal makes ExplainRequests show the values that it finds instead of their hashes. Old values replaced by hooks of tool calls, or by hooks with
// onError stop, stay hashes, because the hook may have removed secrets. So do old values of hooks that are not among current, the hooks of
// all plugins.
func reveal(list []Explained, messages []sdk.MessageWithParts, current []hooks.HookInfo) {
	v := &values{wanted: map[string]bool{}, found: map[string]string{}, left: maxValues, stop: map[string]bool{}}
	for i := range list {
		for _, e := range list[i].Entries {
			for _, c := range e.Changes {
				v.wanted[c.Old], v.wanted[c.New] = true, true
			}
		}
		list[i].values = v
	}
	for _, h := range current {
		v.stop[hookKey(h.Point, h.Plugin, h.Hook)] = h.OnError == sdk.OnErrorStop
	}
	if len(v.wanted) == 0 {
		return
	}
	v.parameters()
	for i := range messages {
		for _, p := range messages[i].Parts {
			if raw, err := value.AppendJSON(nil, p); err == nil {
				v.nested(raw)
			}
			if t, ok := p.(*sdk.TextPart); ok {
				v.added(*t)
			}
		}
	}
}

// added adds a text as the hook that added it wrote it: without the IDs that it got afterwards.
func (v *values) added(t sdk.TextPart) {
	head := t.PartHead
	head.ID = ""
	for _, t.PartHead = range []sdk.PartHead{head, {}} {
		if raw, err := value.AppendJSON(nil, &t); err == nil && v.wanted[hooks.Hash(raw)] {
			v.found[hooks.Hash(raw)] = view.Clip("text "+strconv.Quote(t.Text), shownValue)
		}
	}
}

func hookKey(point sdk.Point, plugin, hook string) string {
	return string(point) + "\x00" + plugin + "\x00" + hook
}

// parameters adds the values that parameters of requests usually have.
func (v *values) parameters() {
	for n := range maxHundredths {
		v.add([]byte(strconv.FormatFloat(float64(n)/100, 'g', -1, 64)))
	}
	for n := range maxSmall {
		v.add(strconv.AppendInt(nil, int64(n), 10))
	}
	for _, step := range []int64{500, 1024} {
		for n := step; n <= maxLimit; n += step {
			v.add(strconv.AppendInt(nil, n, 10))
		}
	}
	for _, word := range strings.Fields("true false null {} [] \"\" \"none\" \"minimal\" \"low\" \"medium\" \"high\" \"max\" \"xhigh\" \"auto\"") {
		v.add([]byte(word))
	}
}

// nested adds a value of the session and everything in it.
func (v *values) nested(raw json.RawMessage) {
	if v.left--; v.left < 0 {
		return
	}
	v.add(raw)
	switch raw[0] {
	case '{':
		var object map[string]json.RawMessage
		if json.Unmarshal(raw, &object) == nil {
			for _, member := range object {
				v.nested(member)
			}
		}
	case '[':
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) == nil {
			for _, e := range list {
				v.nested(e)
			}
		}
	}
}

func (v *values) add(raw []byte) {
	if hash := hooks.Hash(raw); v.wanted[hash] {
		v.found[hash] = view.Clip(terminal.OneLine(string(raw)), shownValue)
	}
}

// show returns the old and the new value of a change, or their hashes.
func (v *values) show(e *hooks.Entry, c hooks.EntryChange) (before, after string) {
	before, after = c.Old, c.New
	if v == nil {
		return before, after
	}
	if text, ok := v.found[c.New]; ok {
		after = text
	}
	stops, known := v.stop[hookKey(e.Point, e.Plugin, e.Hook)]
	ofCall := slices.Contains([]sdk.Point{sdk.PointToolBefore, sdk.PointToolAfter}, e.Point)
	if text, ok := v.found[c.Old]; ok && known && !stops && !ofCall {
		before = text
	}
	return before, after
}
