// Package sessions holds the commands for stored sessions, "tenon session".
package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// group is the commands with their flags. One of them runs.
type group struct {
	*cli.App
	limit         int    // of sessions or messages
	all, archived bool   // of list, search and show
	tools         bool   // of show
	yes           bool   // of delete
	force         bool   // of revert, unrevert and import
	message       string // of revert and fork: the first message that is not kept
	model         string // of compact
	export        export
	dry           bool // of gc
	days          int  // of gc
}

// Commands returns the commands, which belong to "tenon session".
func Commands(a *cli.App) cli.Commands {
	g := &group{App: a, limit: 20, export: export{format: "json"}}
	selected := cli.Flags{"limit": &g.limit, "all": &g.all, "archived": &g.archived}
	return cli.Commands{
		"session list":      {Run: g.OnStore(g.list), Flags: selected},
		"session search":    {Run: g.OnStore(g.search), Flags: selected},
		"session show":      {Run: g.OnSession(g.show), Flags: cli.Flags{"limit": &g.limit, "all": &g.all, "tools": &g.tools}},
		"session delete":    {Run: g.OnStore(g.delete), Flags: cli.Flags{"yes": &g.yes}},
		"session rename":    {Run: g.OnStore(g.rename)},
		"session archive":   {Run: g.OnStore(g.archiving(true))},
		"session unarchive": {Run: g.OnStore(g.archiving(false))},
		"session compact":   {Run: g.OnConfig(g.compact), Flags: cli.Flags{"model": &g.model}},
		"session uncompact": {Run: g.OnHost(g.uncompact)},
		"session revert":    {Run: g.OnHost(g.revert), Flags: cli.Flags{"to": &g.message, "force": &g.force}},
		"session unrevert":  {Run: g.OnHost(g.unrevert), Flags: cli.Flags{"force": &g.force}},
		"session diff":      {Run: g.OnHost(g.diff)},
		"session fork":      {Run: g.OnHost(g.fork), Flags: cli.Flags{"at": &g.message}},
		"session export":    {Run: g.runExport, Flags: cli.Flags{"format": &g.export.format, "output": &g.export.file, "full": &g.export.full, "redact": &g.export.redact}},
		"session import":    {Run: g.runImport, Flags: cli.Flags{"force": &g.force}},
		"session gc":        {Run: g.collect, Flags: cli.Flags{"dry-run": &g.dry, "archived-days": &g.days}},
		"session repair":    {Run: g.OnPlace(g.repair)},
	}
}

// scope returns the project or the directory of the selected sessions; both are empty for all projects.
func (g *group) scope(w *cli.Workspace) (projectID, directory string, err error) {
	switch {
	case g.limit < 1:
		err = cli.UsageError("pass a positive number", "invalid -n %d", g.limit)
	case !g.all:
		projectID, directory = w.Scope()
	}
	return projectID, directory, err
}

func (g *group) list(ctx context.Context, w *cli.Workspace, s store.Store, _ []string) (err error) {
	q := store.Query{Limit: g.limit + 1, Archived: g.archived}
	if q.ProjectID, q.Directory, err = g.scope(w); err != nil {
		return err
	}
	list, err := s.Sessions(ctx, q)
	if err = g.WithoutDamage(err); err != nil {
		return err
	}
	if len(list) > g.limit {
		list = list[:g.limit]
		defer g.Say("older sessions are not listed; --limit N lists more")
	}
	now := time.Now()
	head := []string{"id", "updated", "cost", "model", "title"}
	if g.all {
		head = slices.Insert(head, 4, "directory")
	}
	const empty = "no sessions here yet; tenon run starts one, --all includes other projects, --archived includes archived ones"
	return cli.List(g.App, list, empty, head, func(info *sdk.Session) []string {
		cost := "-" // unknown price
		if info.Cost > 0 {
			cost = view.Money(info.Cost)
		}
		cells := []string{info.ID, view.Ago(info.Time.Updated, now), cost, cmp.Or(info.Model.String(), "-")}
		if g.all {
			cells = append(cells, info.Directory)
		}
		title := info.Title
		if info.Time.Archived != 0 {
			title += " (archived)"
		}
		return append(cells, title)
	})
}

func (g *group) delete(ctx context.Context, _ *cli.Workspace, s store.Store, ids []string) error {
	var list []*sdk.Session
	for _, id := range ids {
		info, err := cli.FindSession(ctx, s, id)
		if err = g.WithoutDamage(err); err != nil {
			return err
		}
		list = append(list, info)
	}
	for _, info := range list {
		if !g.yes {
			ok, err := g.Confirm(fmt.Sprintf("delete %s (%s)? This cannot be undone. [y/N] ", info.ID, terminal.OneLine(info.Title)))
			if err != nil {
				return err
			}
			if !ok {
				g.Say("%s was kept", info.ID)
				continue
			}
		}
		if err := s.Delete(ctx, info.ID); err != nil {
			return err
		}
		g.Say("%s was deleted", info.ID)
	}
	return nil
}

func (g *group) show(ctx context.Context, s store.Store, info *sdk.Session) error {
	page := store.Page{Limit: g.limit}
	if g.all {
		page.Limit = 0
	} else if g.limit < 1 {
		return cli.UsageError("pass a positive number, or --all", "invalid -n %d", g.limit)
	}
	if info.Revert != nil { // reverted messages are not shown
		page.Before = info.Revert.MessageID
	}
	messages, err := s.Messages(ctx, info.ID, page)
	if err = g.WithoutDamage(err); err == nil && g.tools {
		err = g.addOutputs(ctx, s, messages)
	}
	if err != nil {
		return err
	}
	c := g.Screen.ForStdout()
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n", c.Paint(terminal.Bold, terminal.OneLine(info.Title)), c.Paint(terminal.Dim, fmt.Sprintf(
		"%s · %s · %s · %s tokens · %s", info.ID, terminal.Visible(info.Directory), time.UnixMilli(info.Time.Updated).Format(time.DateTime), view.Count(info.Tokens.Sum()), view.Money(info.Cost))))
	if page.Limit > 0 && len(messages) == page.Limit {
		fmt.Fprintf(&b, "%s\n", c.Paint(terminal.Dim, "the latest "+view.Plural(page.Limit, "message")+"; --all prints all"))
	}
	for i := range messages {
		view.ShowMessage(c, &b, &messages[i], info.Directory, g.tools)
	}
	if info.Revert != nil {
		fmt.Fprintf(&b, "\n%s\n", c.Paint(terminal.Dim, "the following messages were reverted; tenon session unrevert restores them until the next prompt"))
	}
	todos, err := s.Todos(ctx, info.ID)
	if err = g.WithoutDamage(err); err != nil {
		return err
	}
	if len(todos) > 0 {
		fmt.Fprintf(&b, "\n%s\n", view.TodoLine(c, todos))
	}
	return g.Print(b.String())
}

// addOutputs replaces the previews of large outputs by the outputs.
func (g *group) addOutputs(ctx context.Context, s store.Store, messages []sdk.MessageWithParts) error {
	for t := range store.PartsOf[*sdk.ToolPart](messages...) {
		hash := store.Output(t)
		if hash == "" {
			continue
		}
		whole, err := s.Blob(ctx, hash)
		if err == nil {
			t.State.Output = string(whole)
		} else if err = g.WithoutDamage(store.OutputDamage(t, err)); err != nil {
			return err
		}
	}
	return nil
}

func (g *group) search(ctx context.Context, w *cli.Workspace, s store.Store, words []string) (err error) {
	q := store.SearchQuery{Words: words, Limit: g.limit, Archived: g.archived}
	if q.ProjectID, q.Directory, err = g.scope(w); err != nil {
		return err
	}
	hits, err := s.Search(ctx, q)
	if errors.Is(err, store.ErrSearch) {
		return cli.UsageError("tenon session search --help explains the syntax", "%w", err)
	}
	if err = g.WithoutDamage(err); err != nil {
		return err
	}
	const empty = "no session contains these words; --all also searches other projects, --archived archived sessions"
	return cli.List(g.App, hits, empty, nil, func(h *store.Hit) []string {
		return []string{h.Session.ID, view.Ago(h.Session.Time.Updated, time.Now()), h.Session.Title, excerpt(h, words)}
	})
}

// excerptLength is the length of an excerpt, in runes.
const excerptLength = 80

// excerpt returns the text around the first found word, or "" if the title matches.
func excerpt(h *store.Hit, words []string) string {
	if h.MessageID == "" {
		return ""
	}
	text := terminal.OneLine(strings.Join(strings.Fields(h.Text), " "))
	quoted := cli.Mapped(words, func(w *string) string { return regexp.QuoteMeta(strings.ToValidUTF8(strings.Trim(*w, `"*`), "")) })
	quoted = slices.DeleteFunc(quoted, func(w string) bool { return w == "" })
	at := 0 // stays if the word has other accents, or if there are too many words
	if word, err := regexp.Compile("(?i)" + strings.Join(quoted, "|")); err == nil {
		at = strings.Index(text, word.FindString(text))
	}
	before := []rune(text[:at])
	start := max(0, len(before)-excerptLength/4)
	shown := view.Clip(string(before[start:])+text[at:], excerptLength)
	if start > 0 {
		shown = "…" + shown
	}
	return shown
}
