package sqlite_test

import (
	"fmt"
	"testing"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// archived returns a session that was archived.
func archived(id string, at sdk.Millis) *sdk.Session {
	s := session(id)
	s.Time.Archived = at
	return s
}

func testArchived(t *testing.T, e *env) {
	e.create("ses_a")
	token := e.create("ses_b")
	e.change(token, store.PutSession{Session: archived("ses_b", 7)})
	equal(t, "without archived", e.list(store.Query{}), []string{"ses_a"})
	equal(t, "with archived", e.list(store.Query{Archived: true}), []string{"ses_a", "ses_b"})
	equal(t, "with children", e.list(store.Query{Children: true}), []string{"ses_a"})
	e.change(token, store.PutSession{Session: session("ses_b")})
	equal(t, "taken back", e.list(store.Query{}), []string{"ses_a", "ses_b"})
}

// importOf returns a session with two messages and one of everything beside them.
func importOf(id, said string) store.Import {
	ask, answer := user(id, "msg_1"), assistant(id, "msg_2")
	ops := append(put(ask, text(ask, "prt_1", said)), put(answer, text(answer, "prt_2", "the answer"))...)
	ops = append(ops, store.PutBlob{Content: []byte("output of " + id)}, store.PutTodos{Todos: []sdk.Todo{{Content: "c"}}})
	return store.Import{Session: session(id), Ops: ops}
}

func testImport(t *testing.T, e *env) {
	child := importOf("ses_child", "deeper")
	child.Session.ParentID = "ses_a"
	e.must(e.Import(t.Context(), []store.Import{importOf("ses_a", "hello"), child}, false))
	equal(t, "roots", e.list(store.Query{}), []string{"ses_a"})
	equal(t, "children", e.list(store.Query{ParentID: "ses_a"}), []string{"ses_child"})
	equal(t, "messages", len(e.read("ses_a", store.Page{})), 2)
	content, err := e.Blob(t.Context(), store.Hash([]byte("output of ses_child")))
	e.must(err)
	equal(t, "blob", string(content), "output of ses_child")
	todos, err := e.Todos(t.Context(), "ses_child")
	e.must(err)
	equal(t, "todos", len(todos), 1)

	// It has no owner, and continues like any other.
	other := e.open()
	token := other.claim("ses_a")
	_, before, err := e.Session(t.Context(), "ses_a")
	e.must(err)
	gives(e, "seq", before+1)(other.Append(t.Context(), token, put(user("ses_a", "msg_3"))))
}

func testImportReplaces(t *testing.T, e *env) {
	e.child("ses_a", "")
	old := e.child("ses_old", "ses_a")
	e.must(e.Release(t.Context(), store.Token{Session: "ses_a", Epoch: 1}))
	other := e.open()
	ownerOf(t, "Import over a session in use", other.Import(t.Context(), []store.Import{importOf("ses_a", "new")}, true))
	equal(t, "kept", e.list(store.Query{Children: true}), []string{"ses_a", "ses_old"})
	e.must(e.Release(t.Context(), old))
	e.must(other.Import(t.Context(), []store.Import{importOf("ses_a", "new")}, true))
	e.left("ses_a")
	equal(t, "messages", len(e.read("ses_a", store.Page{})), 2)
	if token := e.claim("ses_a"); token.Epoch < 2 {
		t.Errorf("epoch %d: tokens of the earlier session hold", token.Epoch)
	}
}

// An import that is refused leaves nothing behind.
func testImportRefuses(t *testing.T, e *env) {
	e.child("ses_a", "")
	kept := e.read("ses_a", store.Page{})
	exists := e.Import(t.Context(), []store.Import{importOf("ses_b", "x"), importOf("ses_a", "x")}, false)
	wantErr(t, "Import of an existing session", exists, store.ErrExists)
	broken := importOf("ses_c", "x")
	broken.Ops = append(broken.Ops, store.PutPart{Part: text(user("ses_c", "msg_missing"), "prt_9", "x")})
	wantErr(t, "Import of a part without a message", e.Import(t.Context(), []store.Import{importOf("ses_b", "x"), broken}, true), store.ErrNotFound)
	equal(t, "sessions", e.list(store.Query{}), []string{"ses_a"})
	equal(t, "messages", e.read("ses_a", store.Page{}), kept)
	wantErr(t, "Blob of a refused import", failure(e.Blob(t.Context(), store.Hash([]byte("output of ses_b")))), store.ErrNotFound)
}

// search returns the sessions found and where.
func (e *env) search(words ...string) []string {
	e.Helper()
	return e.searchFor(store.SearchQuery{Words: words})
}

func (e *env) searchFor(q store.SearchQuery) []string {
	e.Helper()
	hits, err := e.Search(e.Context(), q)
	e.must(err)
	out := []string{}
	for _, h := range hits {
		out = append(out, h.Session.ID+" "+h.MessageID+" "+h.Text)
	}
	return out
}

func testSearch(t *testing.T, e *env) {
	for id, said := range map[string]string{
		"ses_a": "Fix the Größe of the config_file in host/store.go", "ses_b": "次の質問に答えてください", "ses_c": "config and file, apart",
	} {
		e.must(e.Import(t.Context(), []store.Import{importOf(id, said)}, false))
	}
	a := "ses_a msg_1 Fix the Größe of the config_file in host/store.go"
	for name, c := range map[string]struct {
		words []string
		want  []string
	}{
		"word":         {[]string{"fix"}, []string{a}},
		"same accents": {[]string{"GRÖßE"}, []string{a}},
		"no accents":   {[]string{"große"}, []string{a}},
		"all words":    {[]string{"the", "store"}, []string{a}},
		"not all":      {[]string{"the", "answer", "fix"}, []string{}},
		"joined":       {[]string{"config_file"}, []string{a}},
		"path":         {[]string{"host/store.go"}, []string{a}},
		"phrase":       {[]string{"the config"}, []string{a}},
		"no prefix":    {[]string{"conf*"}, []string{}},
		"unspaced":     {[]string{"質問"}, []string{"ses_b msg_1 次の質問に答えてください"}},
		"not in a row": {[]string{"問質"}, []string{}},
		"operators":    {[]string{`"`, `fix" OR "answer`}, []string{}},
		"title":        {[]string{"title", "ses_c"}, []string{"ses_c  Title of ses_c"}},
	} {
		equal(t, name, e.search(c.words...), c.want)
	}
	for _, words := range [][]string{nil, {"", "++", "*"}} {
		wantErr(t, fmt.Sprintf("Search %q", words), failure(e.Search(t.Context(), store.SearchQuery{Words: words})), store.ErrSearch)
	}
}

// A search finds the current text, once it is complete.
func testSearchChanges(t *testing.T, e *env) {
	token := e.create("ses_a")
	m := assistant("ses_a", "msg_1")
	open := text(m, "prt_1", "")
	open.Time = &sdk.PartTime{Start: 1}
	e.change(token, append(put(m, open), store.AppendText{PartID: "prt_1", Field: "text", Text: "early words"})...)
	equal(t, "open text", e.search("early"), []string{})
	whole := text(m, "prt_1", "final words")
	whole.Time = &sdk.PartTime{Start: 1, End: 2}
	e.change(token, store.PutPart{Part: whole})
	equal(t, "final text", e.search("final"), []string{"ses_a msg_1 final words"})
	e.change(token, store.PutPart{Part: text(m, "prt_1", "other words")})
	equal(t, "replaced", e.search("final"), []string{})
	equal(t, "replacement", e.search("other"), []string{"ses_a msg_1 other words"})
	synthetic := text(m, "prt_2", "secondhand")
	synthetic.Synthetic = true
	e.change(token, store.PutPart{Part: synthetic})
	equal(t, "made by the host", e.search("secondhand"), []string{})
	renamed := session("ses_a")
	renamed.Title = "Renamed"
	e.change(token, store.PutSession{Session: renamed})
	equal(t, "new title", e.search("renamed"), []string{"ses_a  Renamed"})
	equal(t, "old title", e.search("title"), []string{})
	e.change(token, put(user("ses_a", "msg_2"), text(user("ses_a", "msg_2"), "prt_3", "renamed too"))...)
	equal(t, "latest", e.search("renamed"), []string{"ses_a msg_2 renamed too"})
	e.change(token, store.RemoveMessage{MessageID: "msg_2"})
	equal(t, "message removed", e.search("too"), []string{})
	e.must(e.Delete(t.Context(), "ses_a"))
	equal(t, "deleted", e.search("renamed"), []string{})
}

func testSearchSelects(t *testing.T, e *env) {
	for i, id := range []string{"ses_a", "ses_b", "ses_c", "ses_d"} {
		v := importOf(id, "needle")
		v.Session.ProjectID = []string{"p", "q"}[i%2]
		v.Session.Directory = "/" + id
		if id == "ses_d" {
			v.Session.Time.Archived = 5
		}
		e.must(e.Import(t.Context(), []store.Import{v}, false))
	}
	words := []string{"needle"}
	for name, c := range map[string]struct {
		q    store.SearchQuery
		want []string
	}{
		"all":       {store.SearchQuery{}, []string{"ses_c", "ses_b", "ses_a"}},
		"limit":     {store.SearchQuery{Limit: 2}, []string{"ses_c", "ses_b"}},
		"archived":  {store.SearchQuery{Archived: true}, []string{"ses_d", "ses_c", "ses_b", "ses_a"}},
		"project":   {store.SearchQuery{ProjectID: "q"}, []string{"ses_b"}},
		"directory": {store.SearchQuery{Directory: "/ses_a"}, []string{"ses_a"}},
	} {
		c.q.Words = words
		got := []string{}
		hits, err := e.Search(t.Context(), c.q)
		e.must(err)
		for _, h := range hits {
			got = append(got, h.Session.ID)
		}
		equal(t, name, got, c.want)
	}
}

func (e *env) collect(o store.GC) store.Collected {
	e.Helper()
	out, err := e.Collect(e.Context(), o)
	e.must(err)
	return out
}

func testCollectBlobs(t *testing.T, e *env) {
	token := e.create("ses_a")
	m := user("ses_a", "msg_1")
	kept, lost, shared := []byte("kept"), []byte("lost"), []byte("shared")
	ops := append(put(m, text(m, "prt_1", "see "+store.Hash(kept))), store.PutBlob{Content: kept}, store.PutBlob{Content: lost}, store.PutBlob{Content: shared})
	e.change(token, ops...)
	b := e.create("ses_b")
	mb := user("ses_b", "msg_1")
	e.change(b, append(put(mb, text(mb, "prt_1", "see "+store.Hash(shared))), store.PutBlob{Content: shared})...)
	e.must(e.Release(t.Context(), b))

	if got := e.collect(store.GC{}); got.Blobs != 0 || got.Skipped != 1 {
		t.Errorf("Collect with the session in use = %+v", got)
	}
	e.must(e.Release(t.Context(), token))
	for _, dry := range []bool{true, false} {
		if got := e.collect(store.GC{DryRun: dry}); got.Blobs != 1 || got.BlobBytes == 0 {
			t.Errorf("Collect, dry %v = %+v, want one blob", dry, got)
		}
	}
	equal(t, "again", e.collect(store.GC{}), store.Collected{})
	for content, want := range map[string]error{"kept": nil, "shared": nil, "lost": store.ErrNotFound} {
		wantErr(t, "Blob "+content, failure(e.Blob(t.Context(), store.Hash([]byte(content)))), want)
	}
}

func testCollectSessions(t *testing.T, e *env) {
	for id, at := range map[string]sdk.Millis{"ses_old": 10, "ses_new": 100, "ses_busy": 10, "ses_plain": 0} {
		v := importOf(id, "x")
		v.Session.Time.Archived = at
		e.must(e.Import(t.Context(), []store.Import{v}, false))
	}
	child := importOf("ses_child", "x")
	child.Session.ParentID = "ses_old"
	e.must(e.Import(t.Context(), []store.Import{child}, false))
	check(t, failure(e.open().Claim(t.Context(), "ses_busy")))
	all := store.Query{Children: true, Archived: true}
	equal(t, "nothing asked for", e.collect(store.GC{}).Sessions, []string{})
	for _, dry := range []bool{true, false} {
		equal(t, "before", len(e.list(all)), 5)
		got := e.collect(store.GC{DryRun: dry, Archived: 50})
		equal(t, "sessions", got.Sessions, []string{"ses_old"})
		equal(t, "skipped", got.Skipped, 1)
	}
	equal(t, "left", e.list(all), []string{"ses_busy", "ses_new", "ses_plain"})
}
