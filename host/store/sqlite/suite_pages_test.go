package sqlite_test

import (
	"fmt"
	"testing"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// testPages compares every page of a short session, all combinations at their edges, with a slice.
func testPages(t *testing.T, e *env) {
	token := e.create("ses_a")
	const n = 6
	var all []string
	var ids []string
	for i := range n {
		m := user("ses_a", number("msg", i))
		parts := sdk.Parts{}
		for k := range i % 3 { // some have no parts
			parts = append(parts, text(m, number("prt", 10*i+k), "x"))
		}
		e.change(token, put(m, parts...)...)
		ids = append(ids, m.ID)
		all = append(all, toJSON(t, sdk.MessageWithParts{Info: m, Parts: parts}))
	}
	e.change(token, store.RemoveMessage{MessageID: ids[2]})
	all = append(all[:2], all[3:]...)
	ids = append(ids[:2], ids[3:]...)
	e.create("ses_b") // a neighbour must not leak into a page
	for before := -1; before < len(ids); before++ {
		for from := -1; from < len(ids); from++ {
			for limit := range len(ids) + 2 {
				p, want := store.Page{Limit: limit}, all
				if before >= 0 {
					p.Before, want = ids[before], want[:before]
				}
				if from >= 0 {
					p.From, want = ids[from], want[min(from, len(want)):]
				}
				if limit > 0 && len(want) > limit {
					want = want[len(want)-limit:]
				}
				equal(t, fmt.Sprintf("page %+v", p), e.read("ses_a", p), append([]string{}, want...))
			}
		}
	}
	for _, p := range []store.Page{{Before: "msg_x"}, {From: "msg_x"}, {Before: number("msg", 2)}} {
		wantErr(t, fmt.Sprintf("Messages %+v", p), failure(e.Messages(t.Context(), "ses_a", p)), store.ErrNotFound)
	}
	equal(t, "messages of an empty session", e.read("ses_b", store.Page{}), []string{})
}

// list returns the identifiers of a listing, which must be the same in both forms.
func (e *env) list(q store.Query) []string {
	e.Helper()
	ss, err := e.Sessions(e.Context(), q)
	e.must(err)
	listed, err := e.List(e.Context(), q)
	e.must(err)
	out, want := []string{}, []store.Listed{}
	for _, s := range ss {
		out = append(out, s.ID)
		want = append(want, store.Listed{ID: s.ID, ParentID: s.ParentID, ProjectID: s.ProjectID, Directory: s.Directory, Title: s.Title,
			Cost: s.Cost, Created: s.Time.Created, Updated: s.Time.Updated, Archived: s.Time.Archived})
	}
	equal(e.T, "List", append([]store.Listed{}, listed...), want)
	return out
}

func testListing(t *testing.T, e *env) {
	add := func(id string, updated sdk.Millis, change func(*sdk.Session)) {
		e.createAs(id, func(s *sdk.Session) {
			s.Time.Updated = updated
			change(s)
		})
	}
	add("ses_1", 50, func(s *sdk.Session) { s.Title = "Ärger mit dem Köcher" })
	add("ses_2", 40, func(s *sdk.Session) { s.ProjectID = "p" })
	add("ses_3", 60, func(s *sdk.Session) { s.Directory = "/other" })
	add("ses_4", 40, func(s *sdk.Session) { s.Title = "100% done_" })
	add("ses_5", 90, func(s *sdk.Session) { s.ParentID = "ses_1" })
	add("ses_6", 95, func(s *sdk.Session) { s.ParentID = "ses_5"; s.ProjectID = "p" })
	for name, c := range map[string]struct {
		q    store.Query
		want []string
	}{
		"roots":                 {store.Query{}, []string{"ses_3", "ses_1", "ses_2", "ses_4"}},
		"all":                   {store.Query{Children: true}, []string{"ses_6", "ses_5", "ses_3", "ses_1", "ses_2", "ses_4"}},
		"children of one":       {store.Query{ParentID: "ses_1"}, []string{"ses_5"}},
		"children win":          {store.Query{ParentID: "ses_5", Children: true}, []string{"ses_6"}},
		"no children":           {store.Query{ParentID: "ses_2"}, []string{}},
		"project":               {store.Query{ProjectID: "p"}, []string{"ses_2"}},
		"project with children": {store.Query{ProjectID: "p", Children: true}, []string{"ses_6", "ses_2"}},
		"directory":             {store.Query{Directory: "/other"}, []string{"ses_3"}},
		"limit":                 {store.Query{Limit: 2}, []string{"ses_3", "ses_1"}},
		"all filters":           {store.Query{ProjectID: "p", Directory: "/src", Limit: 1}, []string{"ses_2"}},
	} {
		equal(t, name, e.list(c.q), c.want)
	}
	// A change moves the session to the front.
	token := e.claim("ses_4")
	s := session("ses_4")
	s.Time.Updated = 99
	e.change(token, store.PutSession{Session: s})
	equal(t, "after a change", e.list(store.Query{}), []string{"ses_4", "ses_3", "ses_1", "ses_2"})
	e.reopen()
	equal(t, "opened again", e.list(store.Query{}), []string{"ses_4", "ses_3", "ses_1", "ses_2"})
}

// testListingContinued reads a listing in pages of every size; many sessions have the same time.
func testListingContinued(t *testing.T, e *env) {
	for i := range 130 {
		e.createAs(number("ses", (i*37)%130), func(s *sdk.Session) { s.Time.Updated = sdk.Millis(100 - i/40) })
	}
	equal(t, "default limit", len(e.list(store.Query{})), 100)
	all := e.list(store.Query{Limit: 1000})
	equal(t, "all", len(all), 130)
	for _, size := range []int{1, 7, 40, 129, 130, 131} {
		got := []string{}
		for q := (store.Query{Limit: size}); ; {
			page, err := e.Sessions(t.Context(), q)
			e.must(err)
			for _, s := range page {
				got = append(got, s.ID)
			}
			if len(page) < size {
				break
			}
			q.Before = &page[len(page)-1]
		}
		equal(t, fmt.Sprintf("listing in pages of %d", size), got, all)
	}
}
