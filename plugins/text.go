package plugins

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/internal/envname"
	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/plugins/trust"
	"github.com/tenonhq/tenon/sdk"
)

// Limits of the text, in characters, and of a list of names, in lines. Rights of a plugin are shown in full: its manifest is bounded.
const (
	maxWords = 200   // text of the plugin
	maxEntry = 500   // an entry of a list of names, or of the parts that are left out with the reasons
	maxLine  = 20000 // rights of the plugin
	maxLines = 40
)

// Text describes an item for a terminal: its identity, its requests, and the changes since its approval. unconfined is the reason why its
// processes are not confined, nil if they are. Text of the plugin is cleaned: it cannot move the cursor, color or hide anything, or add
// lines.
func (i *Item) Text(unconfined error) string {
	var b strings.Builder
	w := text{&b}
	title := i.Name
	if i.Manifest.Version != "" {
		title += " " + i.Manifest.Version
	}
	w.line("plugin %s", Clean(title))
	if i.Manifest.Summary != "" {
		w.field("says", Clean(i.Manifest.Summary))
	}
	w.field("from", Clean(i.Path)+origin(i))
	w.field("digest", i.Digest.Short())
	RequestText(&b, i.Request, unconfined)
	if i.pkg != nil && i.pkg.Host != "tenon" {
		w.field("written for", i.pkg.Host)
	}
	w.some("left out", i.LeftOut()) // tenon plugin list --format json lists all of them
	ChangesText(&b, i.Decision)
	return b.String()
}

func origin(i *Item) string {
	switch {
	case i.Project:
		return " (in this project)"
	case i.From != "":
		return " (" + Clean(i.From) + ")"
	}
	return ""
}

// RequestText writes the lines of a request, also for MCP servers and command hooks.
func RequestText(b *strings.Builder, r trust.Request, unconfined error) {
	w := text{b}
	if how := carrierText(r, unconfined); how != "" {
		w.field("runs as", how)
	}
	if r.Undescribed {
		if c := manifest.CarrierOf(r.Carrier); c.Name == "" || c.Inert {
			w.field("requests", "not known yet")
		} else {
			w.field("requests", "not known before its first run; tenon then asks again")
		}
	}
	w.all("may", capabilityLines(r.Capabilities))
	w.all("is called", hookLines(r.Hooks))
	w.some("tools", r.Tools)
	w.all("permissions", r.Leave)
	w.all("replaces", replacedLines(r.Replaces))
	w.all("providers", r.Providers)
	w.some("protocols", r.Protocols)
	w.some("agents", r.Agents)
	w.some("commands", r.Commands)
	w.some("skills", r.Skills)
	w.all("MCP servers", r.Servers)
	questions, commands := splitHooks(r.CommandHooks)
	w.all("runs commands", commandLines(commands))
	w.all("asks", questions)
}

// splitHooks separates the questions to the user's model, which commandhooks.Question begins, from the commands.
func splitHooks(lines []string) (questions, commands []string) {
	for _, line := range lines {
		if question, ok := strings.CutPrefix(line, "question to "); ok {
			questions = append(questions, question)
		} else {
			commands = append(commands, line)
		}
	}
	return questions, commands
}

// commandLines are the lines of command hooks, with the rights that follow from their events.
func commandLines(lines []string) []string {
	var out []string
	for _, line := range lines {
		out = append(out, line)
		switch event, _, _ := strings.Cut(strings.TrimSuffix(line, ":"), " "); strings.TrimSuffix(event, ":") {
		case "PreToolUse":
			out = append(out, "  FULL RIGHTS: it rewrites tool calls before they run, and calls it allows run without asking you")
		case "PermissionRequest":
			out = append(out, "  FULL RIGHTS: calls it allows run without asking you")
		}
	}
	return out
}

// carrierText describes how a plugin runs. unconfined is the reason why its processes have all rights; nil if they are confined.
func carrierText(r trust.Request, unconfined error) string {
	var parts []string
	if c := manifest.CarrierOf(r.Carrier); c.How != nil {
		run := &sdk.Runtime{MemoryMB: r.MemoryMB}
		if len(r.Command) > 0 {
			run.Command = []string{Clean(strings.Join(r.Command, " "))}
		}
		parts = append(parts, c.How(run, unconfined))
	}
	rights := "confined like the model's commands: they write only the project, temporary files and caches, and read no secrets"
	if unconfined != nil {
		rights = "with your rights, NOT confined (" + unconfined.Error() + ")"
	}
	if len(r.Servers) > 0 {
		parts = append(parts, "MCP servers; local servers run "+rights)
	}
	if _, commands := splitHooks(r.CommandHooks); len(commands) > 0 {
		parts = append(parts, "commands of your shell, "+rights)
	}
	return strings.Join(parts, "; ")
}

func capabilityLines(list []sdk.Capability) []string {
	out := make([]string, 0, len(list))
	for _, c := range list {
		line := manifest.CapabilityText(c)
		if c.Reason != "" {
			line += `; its reason: "` + strings.ReplaceAll(Clean(c.Reason), `"`, "'") + `"`
		}
		out = append(out, line)
	}
	return out
}

// replacedLines describes the consequences of replacing built-ins.
func replacedLines(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		kind, id, _ := strings.Cut(name, " ")
		out[i] = "tenon's own " + kind + " " + id + ": it receives its calls instead"
		if kind == kindProvider {
			out[i] = "tenon's own " + kind + " " + id + ": it receives your conversations and CAN READ YOUR KEY"
		}
	}
	return out
}

// hookLines describes hooks: when they are called, what they see and change, the rights that follow, and the effect of a failure.
func hookLines(hooks []trust.Hook) []string {
	out := make([]string, 0, 2*len(hooks))
	for _, h := range hooks {
		info, _ := hookpoint.Of(h.Point)
		line := h.Label() + ": " + info.Summary
		if info.Kind == hookpoint.KindGate {
			line += "; it decides"
		}
		if info.MayDeny {
			line += "; it may refuse"
		}
		if len(h.Reads) > 0 {
			line += "; sees " + fields(h.Reads)
		}
		if len(h.Writes) > 0 {
			line += "; changes " + fields(h.Writes)
		}
		out = append(out, line+"; "+failureText(h, info)+orderText(h))
		if right := rightText(h); right != "" {
			out = append(out, right)
		}
	}
	return out
}

// rightText describes the rights of a hook that its field names do not show.
func rightText(h trust.Hook) string {
	if h.Right == "" {
		return ""
	}
	text := "  FULL RIGHTS: it " + string(h.Right)
	switch sdk.Point(h.Point) {
	case sdk.PointShellEnv:
		names := envname.Declared(h.Writes)
		if len(names) == 0 {
			return text + ": its changes do not apply, because it lists no variable"
		}
		for i, name := range names {
			if envname.RunsCode(name) {
				names[i] += " (refused: programs run code that it names)"
			}
		}
		return text + ": each command runs with the variables that it sets: " + strings.Join(names, ", ")
	case sdk.PointCommand:
		return text + ": it rewrites the prompts of your commands"
	case sdk.PointToolBefore:
		return text + ": it rewrites tool calls before they run"
	case sdk.PointPermissionAsk:
		return text + ": calls it allows run without asking you"
	case sdk.PointChatHeaders:
		return text + ": it sets headers of the requests that carry them"
	case sdk.PointChatParams:
		return text + ": it sets any field of the requests, such as tools that the model's server calls"
	}
	return text + ": it chooses models and rewrites prompts"
}

// failureText describes the effect of a failure of a hook, and its time limit.
func failureText(h trust.Hook, info hookpoint.Info) string {
	effect := "it is skipped"
	switch info.OnError(h.OnError) {
	case sdk.OnErrorStop:
		effect = "YOUR TURN ENDS"
	case sdk.OnErrorDeny:
		effect = "it denies"
	}
	limit := cmp.Or(time.Duration(h.TimeoutMS)*time.Millisecond, sdk.DefaultHookTimeout)
	return fmt.Sprintf("if it fails or takes longer than %s, %s", limit, effect)
}

// orderText describes the position of a hook among others, if its manifest sets one.
func orderText(h trust.Hook) string {
	text := ""
	if h.Priority != 0 {
		text += fmt.Sprintf("; priority %d", h.Priority)
	}
	if len(h.Before) > 0 {
		text += "; before " + strings.Join(h.Before, ", ")
	}
	if len(h.After) > 0 {
		text += "; after " + strings.Join(h.After, ", ")
	}
	return text
}

func fields(pointers []string) string {
	out := make([]string, len(pointers))
	for i, p := range pointers {
		out[i] = cmp.Or(p, "everything")
	}
	return strings.Join(out, ", ")
}

// text collects lines.
type text struct{ b *strings.Builder }

func (t text) line(format string, args ...any) { fmt.Fprintf(t.b, format+"\n", args...) }

func (t text) field(name, value string) { t.line("  %-14s %s", name, value) }

// all shows every line of a list.
func (t text) all(name string, lines []string) { t.list(name, lines, maxLine) }

// list shows lines of at most limit characters.
func (t text) list(name string, lines []string, limit int) {
	for _, l := range lines {
		t.field(name, cleanLine(l, limit))
		name = ""
	}
}

// some shows the first names of a list.
func (t text) some(name string, names []string) {
	t.list(name, names[:min(maxLines, len(names))], maxEntry)
	if more := len(names) - maxLines; more > 0 {
		t.field("", fmt.Sprintf("… and %d more", more))
	}
}

// OptionsText returns lines with the first options of the item and their schemas.
func (i *Item) OptionsText() string {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(i.Manifest.Options, &s) // another form of schema has no list of options
	var list []string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		list = append(list, visible.Clean(name+" "+string(s.Properties[name]), maxEntry)) // without its line ends
	}
	var b strings.Builder
	text{&b}.some("options", list)
	return b.String()
}

// ChangesText writes when a request was approved or, if it has to be approved again, the changes since; nothing for a new request.
func ChangesText(b *strings.Builder, d trust.Decision) {
	t := text{b}
	if d.Previous == nil {
		return
	}
	if d.Approved {
		t.field("approved", "on "+d.Previous.ApprovedAt.Format(time.DateOnly))
		t.some("withheld", d.Withheld)
		return
	}
	version := ""
	if d.Previous.Version != "" {
		version = "version " + Clean(d.Previous.Version) + ", "
	}
	t.line("  approved before, on %s: %sdigest %s", d.Previous.ApprovedAt.Format(time.DateOnly), version, d.Previous.Digest.Short())
	if len(d.Withheld) > 0 {
		t.line("  withheld as before: %s; to change that, run tenon plugin untrust %s first", Clean(strings.Join(d.Withheld, ", ")), Clean(visible.Word(d.Previous.Name)))
	}
	if d.Undescribed {
		t.line("  content changed")
		return
	}
	if len(d.Changes) == 0 {
		t.line("  content changed; same requests")
		return
	}
	if d.Why == trust.WhyGrown {
		t.line("  it asks for MORE than you approved:")
	} else {
		t.line("  it asks for less than you approved:")
	}
	for _, c := range d.Changes {
		sign := "-"
		if c.Added {
			sign = "+"
		}
		t.line("    %s %s %s", sign, c.Kind, cleanLine(c.Text, maxLine))
	}
}

// Clean makes text of a plugin safe for a terminal: one bounded line without control and invisible characters.
func Clean(s string) string { return visible.Clean(s, maxWords) }

// cleanLine is visible.Clean, but shows line breaks, which end commands and comments.
func cleanLine(s string, limit int) string {
	return visible.Clean(strings.ReplaceAll(s, "\n", `\n`), limit)
}
