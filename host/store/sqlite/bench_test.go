package sqlite_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite"
	"github.com/tenonhq/tenon/sdk"
)

func newSession(id string) *sdk.Session {
	return &sdk.Session{ID: id, Slug: "quiet-fox", ProjectID: "global", Directory: "/src", Title: "A title of common length",
		Version: "1.2.3", Time: sdk.SessionTime{Created: 1000, Updated: 1000}}
}

func newMessage(session string, i int) *sdk.AssistantMessage {
	return &sdk.AssistantMessage{MessageHead: sdk.MessageHead{ID: fmt.Sprintf("msg_%026d", i), SessionID: session},
		ParentID: "msg_0", ModelID: "gpt-large", ProviderID: "openai", Mode: "build", Agent: "build",
		Path: sdk.MessagePath{Cwd: "/src", Root: "/src"}, Time: sdk.MessageTime{Created: 1, Completed: 2}, Finish: "tool-calls"}
}

// newParts returns what a tool step leaves: text, a tool call, and the figures; about 500 bytes each.
func newParts(m sdk.Message, i int) sdk.Parts {
	at := func(n int) sdk.PartHead {
		return sdk.PartHead{ID: fmt.Sprintf("prt_%024d_%d", i, n), SessionID: m.Head().SessionID, MessageID: m.Head().ID}
	}
	return sdk.Parts{
		&sdk.TextPart{PartHead: at(0), Text: strings.Repeat("some words of text ", 20), Time: &sdk.PartTime{Start: 1, End: 2}},
		&sdk.ToolPart{PartHead: at(1), CallID: "call_1", Tool: "read", State: sdk.ToolState{Status: sdk.ToolCompleted,
			Input: json.RawMessage(`{"filePath":"/src/main.go"}`), Title: "main.go", Metadata: sdk.Object{"lines": 12.0},
			Output: strings.Repeat("a line of code\n", 20), Time: sdk.ToolTime{Start: 1, End: 2}}},
		&sdk.ReasoningPart{PartHead: at(2), Text: strings.Repeat("some reasoning ", 25), Time: sdk.PartTime{Start: 1, End: 2}},
	}
}

func mustCreate(b testing.TB, s *sqlite.Store, id string) store.Token {
	b.Helper()
	t, err := s.Create(b.Context(), newSession(id))
	if err != nil {
		b.Fatal(err)
	}
	return t
}

func mustAppend(b testing.TB, s *sqlite.Store, t store.Token, ops ...store.Op) {
	b.Helper()
	if _, err := s.Append(b.Context(), t, ops); err != nil {
		b.Fatal(err)
	}
}

func mustClose(b testing.TB, s *sqlite.Store) {
	b.Helper()
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}

// benchSession returns a store with a session of 2,000 messages of 3 parts.
func benchSession(b *testing.B) *sqlite.Store {
	s := open(b, filepath.Join(b.TempDir(), "tenon.db"))
	b.Cleanup(func() { mustClose(b, s) })
	t := mustCreate(b, s, "ses_a")
	for i := 0; i < 2000; {
		var ops []store.Op
		for range 100 {
			m := newMessage("ses_a", i)
			ops = append(ops, store.PutMessage{Message: m})
			for _, p := range newParts(m, i) {
				ops = append(ops, store.PutPart{Part: p})
			}
			i++
		}
		mustAppend(b, s, t, ops...)
	}
	return s
}

func BenchmarkOpen(b *testing.B) {
	b.Run("existing", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "tenon.db")
		s := open(b, path)
		mustCreate(b, s, "ses_a")
		mustClose(b, s)
		for b.Loop() {
			s := open(b, path)
			b.StopTimer()
			mustClose(b, s)
			b.StartTimer()
		}
	})
	b.Run("new", func(b *testing.B) {
		dir := b.TempDir()
		for i := 0; b.Loop(); i++ {
			s := open(b, filepath.Join(dir, fmt.Sprint(i), "tenon.db"))
			b.StopTimer()
			mustClose(b, s)
			b.StartTimer()
		}
	})
	// The work of a run until its first request.
	b.Run("existing to first prompt", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "tenon.db")
		mustClose(b, open(b, path))
		for i := 0; b.Loop(); i++ {
			s := open(b, path)
			id := fmt.Sprint("ses_", i)
			t := mustCreate(b, s, id)
			mustAppend(b, s, t, store.PutMessage{Message: newMessage(id, i)})
			b.StopTimer()
			mustClose(b, s)
			b.StartTimer()
		}
	})
	b.Run("close", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "tenon.db")
		for i := 0; b.Loop(); i++ {
			b.StopTimer()
			s := open(b, path)
			mustCreate(b, s, fmt.Sprint("ses_", i))
			b.StartTimer()
			mustClose(b, s)
		}
	})
}

// BenchmarkAppendStep makes the five durable appends of a step with one tool call.
func BenchmarkAppendStep(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "tenon.db"))
	defer mustClose(b, s)
	t := mustCreate(b, s, "ses_a")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		m := newMessage("ses_a", i)
		parts := newParts(m, i)
		pending := *parts[1].(*sdk.ToolPart)
		pending.State = sdk.ToolState{Status: sdk.ToolPending}
		mustAppend(b, s, t, store.PutMessage{Message: m}, store.PutPart{Part: parts[0]})
		mustAppend(b, s, t, store.PutPart{Part: &pending}, store.PutLedger{MessageID: m.ID, Entries: []byte("[]")})
		mustAppend(b, s, t, store.PutPart{Part: parts[1]})
		mustAppend(b, s, t, store.PutPart{Part: parts[2]}, store.PutMessage{Message: m})
		mustAppend(b, s, t, store.PutSession{Session: newSession("ses_a")})
	}
}

// BenchmarkAppendConcurrent has 16 writers; an operation is one message of 4 rows.
func BenchmarkAppendConcurrent(b *testing.B) {
	const writers = 16
	s := open(b, filepath.Join(b.TempDir(), "tenon.db"))
	defer mustClose(b, s)
	var tokens []store.Token
	for w := range writers {
		tokens = append(tokens, mustCreate(b, s, fmt.Sprint("ses_", w)))
	}
	b.ReportAllocs()
	b.ResetTimer()
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for i := w; i < b.N; i += writers {
				m := newMessage(tokens[w].Session, i)
				ops := []store.Op{store.PutMessage{Message: m}}
				for _, p := range newParts(m, i) {
					ops = append(ops, store.PutPart{Part: p})
				}
				if _, err := s.Append(b.Context(), tokens[w], ops); err != nil {
					b.Error(err)
				}
			}
		})
	}
	group.Wait()
}

// BenchmarkDeltas appends what 50 ms of a fast model add to two open parts.
func BenchmarkDeltas(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "tenon.db"))
	defer mustClose(b, s)
	t := mustCreate(b, s, "ses_a")
	m := newMessage("ses_a", 0)
	parts := newParts(m, 0)
	mustAppend(b, s, t, store.PutMessage{Message: m}, store.PutPart{Part: parts[0]}, store.PutPart{Part: parts[2]})
	text := strings.Repeat("word ", 40)
	b.ReportAllocs()
	for b.Loop() {
		mustAppend(b, s, t, store.AppendText{PartID: parts[2].Head().ID, Field: "text", Text: text},
			store.AppendText{PartID: parts[0].Head().ID, Field: "text", Text: text})
	}
}

func BenchmarkMessagesTail(b *testing.B) { benchMessages(b, 100) }

func BenchmarkMessagesAll(b *testing.B) { benchMessages(b, 0) }

func benchMessages(b *testing.B, limit int) {
	s := benchSession(b)
	b.ReportAllocs()
	for b.Loop() {
		ms, err := s.Messages(b.Context(), "ses_a", store.Page{Limit: limit})
		if err != nil || len(ms) < 100 {
			b.Fatal(len(ms), err)
		}
	}
}

func BenchmarkSessionsList10000(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "tenon.db"))
	defer mustClose(b, s)
	var group sync.WaitGroup
	for w := range 64 {
		group.Go(func() {
			for i := w; i < 10_000; i += 64 {
				v := newSession(fmt.Sprintf("ses_%05d", i))
				v.Time.Updated += sdk.Millis(i)
				v.ProjectID = fmt.Sprint("project", i%100)
				if _, err := s.Create(b.Context(), v); err != nil {
					b.Error(err)
				}
			}
		})
	}
	group.Wait()
	for name, q := range map[string]store.Query{
		"newest 100":            {},
		"all 10000":             {Limit: 10_000},
		"newest 100 of project": {ProjectID: "project7"},
		"newest 1 of directory": {Directory: "/src", Limit: 1},
		"none found":            {Directory: "/nowhere"},
	} {
		b.Run("listed/"+name, func(b *testing.B) {
			for b.Loop() {
				if _, err := s.List(b.Context(), q); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("whole/"+name, func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Sessions(b.Context(), q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
