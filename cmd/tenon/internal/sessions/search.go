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
		Use: "search word…", Short: "Search this project's sessions",
		Long: `Find sessions with all given words in the title, or in the same message text. Case and accents are ignored. go.mod finds
"go" followed by "mod"; conf* finds words that begin with "conf". The latest sessions come first.`,
		Args: cli.Args(1, -1, "a word"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithStore(cmd.Context(), func(w *cli.Workspace, s store.Store) error {
				return searchSessions(cmd.Context(), a, w, s, args, o)
			})
		},
	}
	a.FormatFlag(cmd)
	cmd.Flags().IntVarP(&o.limit, "limit", "n", 20, "show at most `N` sessions")
	cmd.Flags().BoolVar(&o.all, "all", false, "search the sessions of all projects")
	cmd.Flags().BoolVar(&o.archived, "archived", false, "also search archived sessions")
	return cmd
}

// foundSession is a search result.
type foundSession struct {
	Session   sdk.Session `json:"session"`
	MessageID string      `json:"messageID,omitempty"` // of the text; none when the title matches
	Text      string      `json:"text"`
}

func searchSessions(ctx context.Context, a *cli.App, w *cli.Workspace, s store.Store, words []string, o searchOptions) error {
	if o.limit < 1 {
		return cli.UsageError("pass a positive number", "invalid -n %d", o.limit)
	}
	q := store.SearchQuery{Words: words, Limit: o.limit, Archived: o.archived}
	if !o.all {
		q.ProjectID, q.Directory = w.Scope()
	}
	hits, err := s.Search(ctx, q)
	if errors.Is(err, store.ErrSearch) {
		return cli.UsageError("tenon session search --help explains the syntax", "%w", err)
	}
	if err = a.WithoutDamage(err); err != nil {
		return err
	}
	var list []foundSession
	for _, h := range hits {
		list = append(list, foundSession{h.Session, h.MessageID, h.Text})
	}
	return cli.List(a, list, cli.Listing[foundSession]{
		Empty: "no session contains these words; --all also searches other projects, --archived archived sessions",
		Row: func(f *foundSession) []string {
			return []string{f.Session.ID, view.Ago(f.Session.Time.Updated, time.Now()), terminal.OneLine(f.Session.Title), excerpt(f, words)}
		},
	})
}

// excerptLength is the length of an excerpt, in runes.
const excerptLength = 80

// excerpt returns the text around the first found word, or "" if the title matches.
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
	if at == len(h.Text) || len(lower) != len(h.Text) { // the word has other accents, or lower case changes the length
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
