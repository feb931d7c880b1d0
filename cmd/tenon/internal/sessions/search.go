package sessions

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

type searchOptions struct {
	limit         int
	all, archived bool
}

func searchCommand(a *cli.App) *cobra.Command {
	var o searchOptions
	cmd := &cobra.Command{
		Use: "search word…", Short: "Find sessions of this project by words of their title or text",
		Long: `Find the sessions in which all words stand together: in the title, or in one text of the user or the model. Case and
accents do not count; go.mod finds "go" and "mod" in this order, conf* all words that begin with conf. Those that were
started last come first.`,
		Args: cli.Args(1, -1, "a word"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithStore(cmd.Context(), func(w *cli.Workspace, s store.Store) error {
				return searchSessions(cmd.Context(), a, w, s, args, o)
			})
		},
	}
	a.FormatFlag(cmd)
	cmd.Flags().IntVarP(&o.limit, "limit", "n", 20, "most sessions to find")
	cmd.Flags().BoolVar(&o.all, "all", false, "search the sessions of all projects")
	cmd.Flags().BoolVar(&o.archived, "archived", false, "search archived sessions too")
	return cmd
}

// foundSession is a session in the JSON listing of a search.
type foundSession struct {
	Session   sdk.Session `json:"session"`
	MessageID string      `json:"messageID,omitempty"` // of the text; none when the title matches
	Text      string      `json:"text"`
}

func searchSessions(ctx context.Context, a *cli.App, w *cli.Workspace, s store.Store, words []string, o searchOptions) error {
	if o.limit < 1 {
		return cli.UsageError("pass a number from 1 on", "-n %d finds nothing", o.limit)
	}
	q := store.SearchQuery{Words: words, Limit: o.limit, Archived: o.archived}
	if !o.all {
		q.ProjectID, q.Directory = w.Scope()
	}
	hits, err := s.Search(ctx, q)
	if errors.Is(err, store.ErrSearch) {
		return cli.UsageError("tenon session search --help tells what can be looked for", "%w", err)
	}
	if err = a.WithoutDamage(err); err != nil {
		return err
	}
	var list []foundSession
	for _, h := range hits {
		list = append(list, foundSession{h.Session, h.MessageID, h.Text})
	}
	return cli.List(a, list, cli.Listing[foundSession]{
		Empty: "no session has these words; --all searches other projects too, --archived archived sessions",
		Row: func(f *foundSession) []string {
			return []string{f.Session.ID, view.Ago(f.Session.Time.Updated, time.Now()), terminal.OneLine(f.Session.Title), excerpt(f, words)}
		},
	})
}

// excerptLength is how much of a text is shown, in runes.
const excerptLength = 80

// excerpt returns what stands around the first word that is found, nothing when the title is what matches.
func excerpt(h *foundSession, words []string) string {
	if h.MessageID == "" {
		return ""
	}
	at := len(h.Text)
	lower := strings.ToLower(h.Text)
	for _, w := range words {
		w = strings.TrimFunc(strings.ToLower(w), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
		if i := strings.Index(lower, w); w != "" && i >= 0 {
			at = min(at, i)
		}
	}
	if at == len(h.Text) || len(lower) != len(h.Text) { // written with other accents, or of another length in lower case
		at = 0
	}
	start := at
	for n := 0; n < excerptLength/4 && start > 0; n++ {
		_, size := utf8.DecodeLastRuneInString(h.Text[:start])
		start -= size
	}
	text := view.Clip(terminal.OneLine(strings.Join(strings.Fields(h.Text[start:]), " ")), excerptLength)
	if start > 0 {
		text = "…" + text
	}
	return text
}
