package sqlite

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
	"github.com/tenonhq/tenon/sdk"
)

// TestPlans checks that what is read on the way to an answer costs what it returns: by an index or a key,
// never by reading or sorting a whole table.
func TestPlans(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "tenon.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	before := &sdk.Session{ID: "ses_a"}
	for name, q := range map[string]statement{
		"changes":       {changes, []any{int64(1), int64(2), int64(3), int64(4), int64(5), int64(6)}},
		"find message":  {findMessage, []any{"msg_a", int64(1), int64(2)}},
		"find part":     {findPart, []any{"prt_a", int64(1), int64(2)}},
		"prompts":       {waitingPrompts, []any{int64(1)}},
		"last prompt":   {lastPrompt, []any{int64(1)}},
		"interrupted":   {openTurns, nil},
		"family":        {family, []any{"ses_a"}},
		"roots":         plan(store.Query{}),
		"roots after":   plan(store.Query{Before: before}),
		"all":           plan(store.Query{Children: true}),
		"all after":     plan(store.Query{Children: true, Before: before}),
		"children":      plan(store.Query{ParentID: "ses_a"}),
		"project":       plan(store.Query{ProjectID: "p"}),
		"directory":     plan(store.Query{Directory: "/src", Limit: 1}),
		"unused blob":   {dropUnused, []any{int64(1)}},
		"portion":       {removals()[0].last, []any{int64(1), int64(2), int64(3), int64(4)}},
		"blobs":         {removals()[4].last, []any{int64(1), int64(2), int64(3), int64(4)}},
		"archived":      plan(store.Query{Archived: true}),
		"search":        {found, []any{"x", int64(1)}},
		"unindex":       {unindexSpan, []any{int64(1), int64(2)}},
		"delete prompt": {"DELETE FROM prompt WHERE session = ?", []any{int64(1)}},
	} {
		t.Run(name, func(t *testing.T) {
			sorts := 0
			var lines []string
			err := s.read(t.Context(), func(x *view) {
				x.Each("EXPLAIN QUERY PLAN "+q.sql, func(r database.Row) { lines = append(lines, r.Text(3)) }, q.args...)
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range lines {
				t.Log(line)
				// The materialised results of changes and family are as long as their outcome.
				// Portions are looked at when their rows are limited.
				if strings.HasPrefix(line, "SCAN") && !strings.HasPrefix(line, "SCAN (subquery") && !strings.Contains(line, " USING ") && !lookup.MatchString(line) &&
					line != "SCAN d" && line != "SCAN f" && line != "SCAN family" {
					t.Errorf("reads too much: %s", line)
				}
				if strings.Contains(line, "TEMP B-TREE") {
					sorts++
				}
			}
			if sorts > 0 && (name != "changes" || sorts > 1) { // changes sorts the open parts
				t.Errorf("sorts %d times", sorts)
			}
		})
	}
}

// lookup is how a plan shows questions that the index of the words answers.
var lookup = regexp.MustCompile(`^SCAN search VIRTUAL TABLE INDEX \d+:(M|=)`)

type statement struct {
	sql  string
	args []any
}

func plan(q store.Query) statement {
	sql, args := listing("brief", q)
	return statement{sql, args}
}
