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

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// Command returns "tenon session".
func Command(a *cli.App) *cobra.Command {
	return cli.Group(
		&cobra.Command{Use: "session", Aliases: []string{"sessions"}, Short: "Manage stored sessions"},
		listCommand(a), showCommand(a), deleteCommand(a), compactCommand(a), uncompactCommand(a), revertCommand(a), unrevertCommand(a), diffCommand(a),
		forkCommand(a), searchCommand(a), exportCommand(a), importCommand(a), renameCommand(a),
		archiveCommand(a, "archive", "Archive sessions (hidden from lists and -c)", true),
		archiveCommand(a, "unarchive", "Unarchive sessions", false), gcCommand(a), repairCommand(a),
	)
}

// selection holds the flags that select sessions.
type selection struct {
	limit         int
	all, archived bool
}

// register adds the flags of a command that does something with the selected sessions.
func (o *selection) register(a *cli.App, cmd *cobra.Command, verb string) *cobra.Command {
	cmd.Flags().IntVarP(&o.limit, "limit", "n", 20, verb+" at most `N` sessions")
	cmd.Flags().BoolVar(&o.all, "all", false, verb+" the sessions of all projects")
	cmd.Flags().BoolVar(&o.archived, "archived", false, "also "+verb+" archived sessions")
	return a.FormatFlag(cmd)
}

// scope returns the project or the directory of the selected sessions; both are empty for all projects.
func (o *selection) scope(w *cli.Workspace) (projectID, directory string, err error) {
	switch {
	case o.limit < 1:
		err = cli.UsageError("pass a positive number", "invalid -n %d", o.limit)
	case !o.all:
		projectID, directory = w.Scope()
	}
	return projectID, directory, err
}

func listCommand(a *cli.App) *cobra.Command {
	var o selection
	return o.register(a, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List this project's sessions, latest first", RunE: a.OnStore(o.list),
	}, "list")
}

func (o *selection) list(ctx context.Context, w *cli.Workspace, s store.Store, _ []string) (err error) {
	q := store.Query{Limit: o.limit, Archived: o.archived}
	if q.ProjectID, q.Directory, err = o.scope(w); err != nil {
		return err
	}
	list, err := s.Sessions(ctx, q)
	if err = w.App.WithoutDamage(err); err != nil {
		return err
	}
	now := time.Now()
	head := []string{"id", "updated", "cost", "model", "title"}
	if o.all {
		head = slices.Insert(head, 4, "directory")
	}
	return cli.List(w.App, list, cli.Listing[sdk.Session]{
		Empty: "no sessions here yet; tenon run starts one, --all includes other projects, --archived includes archived ones", Head: head,
		Row: func(info *sdk.Session) []string {
			cost := "-" // unknown price
			if info.Cost > 0 {
				cost = view.Money(info.Cost)
			}
			model := cmp.Or(info.Model.String(), "-")
			cells := []string{info.ID, view.Ago(info.Time.Updated, now), cost, model}
			if o.all {
				cells = append(cells, info.Directory)
			}
			title := info.Title
			if info.Time.Archived != 0 {
				title += " (archived)"
			}
			return append(cells, title)
		},
	})
}

func deleteCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{Use: "delete session…", Aliases: []string{"rm"}, Short: "Delete sessions and their subagents' sessions"}
	yes := cmd.Flags().BoolP("yes", "y", false, "do not ask for confirmation")
	cmd.RunE = a.OnStore(func(ctx context.Context, _ *cli.Workspace, s store.Store, ids []string) error {
		return deleteSessions(ctx, a, s, ids, *yes)
	})
	return cmd
}

func deleteSessions(ctx context.Context, a *cli.App, s store.Store, ids []string, yes bool) error {
	var list []*sdk.Session
	for _, id := range ids {
		info, err := cli.FindSession(ctx, s, id)
		if err = a.WithoutDamage(err); err != nil {
			return err
		}
		list = append(list, info)
	}
	for _, info := range list {
		if !yes {
			ok, err := a.Confirm(fmt.Sprintf("delete %s (%s)? This cannot be undone. [y/N] ", info.ID, terminal.OneLine(info.Title)))
			if err != nil {
				return err
			}
			if !ok {
				a.Say("%s was kept", info.ID)
				continue
			}
		}
		if err := s.Delete(ctx, info.ID); err != nil {
			return err
		}
		a.Say("%s was deleted", info.ID)
	}
	return nil
}

// shownMessages is the default number of messages of "session show".
const shownMessages = 20

func showCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{Use: "show [session]", Short: "Print the end of a session (default: the latest)"}
	limit := cmd.Flags().IntP("limit", "n", shownMessages, "print at most `N` messages")
	all := cmd.Flags().Bool("all", false, "print the whole conversation")
	tools := cmd.Flags().Bool("tools", false, "print complete tool outputs")
	cmd.RunE = a.OnSession(func(ctx context.Context, s store.Store, info *sdk.Session) error {
		page := store.Page{Limit: *limit}
		if *all {
			page.Limit = 0
		} else if *limit < 1 {
			return cli.UsageError("pass a positive number, or --all", "invalid -n %d", *limit)
		}
		return showSession(ctx, a, s, info, page, *tools)
	})
	return cmd
}

func showSession(ctx context.Context, a *cli.App, s store.Store, info *sdk.Session, page store.Page, tools bool) error {
	if info.Revert != nil { // reverted messages are not shown
		page.Before = info.Revert.MessageID
	}
	messages, err := s.Messages(ctx, info.ID, page)
	if err = a.WithoutDamage(err); err == nil && tools {
		err = addOutputs(ctx, a, s, messages)
	}
	if err != nil {
		return err
	}
	c := a.Screen.ForStdout()
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n", c.Paint(terminal.Bold, terminal.OneLine(info.Title)), c.Paint(terminal.Dim, fmt.Sprintf(
		"%s · %s · %s · %s tokens · %s", info.ID, terminal.Visible(info.Directory), time.UnixMilli(info.Time.Updated).Format(time.DateTime), view.Count(info.Tokens.Sum()), view.Money(info.Cost))))
	if page.Limit > 0 && len(messages) == page.Limit {
		fmt.Fprintf(&b, "%s\n", c.Paint(terminal.Dim, fmt.Sprintf("the latest %d messages; --all prints all", page.Limit)))
	}
	for i := range messages {
		view.ShowMessage(c, &b, &messages[i], info.Directory, tools)
	}
	if info.Revert != nil {
		fmt.Fprintf(&b, "\n%s\n", c.Paint(terminal.Dim, "the following messages were reverted; tenon session unrevert restores them until the next prompt"))
	}
	todos, err := s.Todos(ctx, info.ID)
	if err = a.WithoutDamage(err); err != nil {
		return err
	}
	if len(todos) > 0 {
		fmt.Fprintf(&b, "\n%s\n", view.TodoLine(c, todos))
	}
	return a.Print(b.String())
}

// addOutputs replaces the previews of large outputs by the outputs.
func addOutputs(ctx context.Context, a *cli.App, s store.Store, messages []sdk.MessageWithParts) error {
	for t := range store.PartsOf[*sdk.ToolPart](messages...) {
		hash := store.Output(t)
		if hash == "" {
			continue
		}
		whole, err := s.Blob(ctx, hash)
		if err == nil {
			t.State.Output = string(whole)
		} else if err = a.WithoutDamage(store.OutputDamage(t, err)); err != nil {
			return err
		}
	}
	return nil
}

func searchCommand(a *cli.App) *cobra.Command {
	var o selection
	return o.register(a, &cobra.Command{
		Use: "search word…", Short: "Search this project's sessions",
		Long: `Find sessions with all given words in the title, or in the same message text. Case and accents are ignored. go.mod finds
"go" followed by "mod". The latest sessions come first.`,
		RunE: a.OnStore(o.search),
	}, "search")
}

func (o *selection) search(ctx context.Context, w *cli.Workspace, s store.Store, words []string) (err error) {
	q := store.SearchQuery{Words: words, Limit: o.limit, Archived: o.archived}
	if q.ProjectID, q.Directory, err = o.scope(w); err != nil {
		return err
	}
	hits, err := s.Search(ctx, q)
	if errors.Is(err, store.ErrSearch) {
		return cli.UsageError("tenon session search --help explains the syntax", "%w", err)
	}
	if err = w.App.WithoutDamage(err); err != nil {
		return err
	}
	return cli.List(w.App, hits, cli.Listing[store.Hit]{
		Empty: "no session contains these words; --all also searches other projects, --archived archived sessions",
		Row: func(h *store.Hit) []string {
			return []string{h.Session.ID, view.Ago(h.Session.Time.Updated, time.Now()), h.Session.Title, excerpt(h, words)}
		},
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
	at := len(text)
	for _, w := range words {
		if word, err := regexp.Compile("(?i)" + regexp.QuoteMeta(strings.Trim(w, `"*`))); err == nil {
			if found := word.FindStringIndex(text); found != nil {
				at = min(at, found[0])
			}
		}
	}
	if at == len(text) { // the word has other accents
		at = 0
	}
	before := []rune(text[:at])
	start := max(0, len(before)-excerptLength/4)
	shown := view.Clip(string(before[start:])+text[at:], excerptLength)
	if start > 0 {
		shown = "…" + shown
	}
	return shown
}
