package sqlite

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

func TestBrief(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]*sdk.Session{
		"empty": {},
		"all": {ID: "ses_a", ParentID: "ses_b", ProjectID: "p", Directory: "/src", Title: "A title", Cost: 12,
			Time: sdk.SessionTime{Created: 1, Updated: 2, Archived: 3}},
		"odd texts": {ID: "1 2", ParentID: " ", ProjectID: "\n", Directory: "/a b\x00\xff", Title: "7 8\n9 ", Cost: -1, Time: sdk.SessionTime{Created: -5}},
	} {
		got, ok := parseBrief(brief(v))
		want := store.Listed{ID: v.ID, ParentID: v.ParentID, ProjectID: v.ProjectID, Directory: v.Directory, Title: v.Title,
			Cost: v.Cost, Created: v.Time.Created, Updated: v.Time.Updated, Archived: v.Time.Archived}
		if d := cmp.Diff(want, got); !ok || d != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, ok, d)
		}
	}
	for _, bad := range []string{"", "1 2 3", "1 2 3 4 5 6 7 8", "1 2 3 4 9 0 0 0 short", "1 2 3 4 -1 0 0 0 x", "x 2 3 4 0 0 0 0 "} {
		if v, ok := parseBrief(bad); ok {
			t.Errorf("parseBrief(%q) = %+v", bad, v)
		}
	}
}
