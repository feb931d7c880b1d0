package sqlite_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/tenonhq/tenon/host/store"
)

// testHammer has many sessions written, read, listed, submitted to and claimed at once.
func testHammer(t *testing.T, e *env) {
	const sessions, messages = 12, 15
	var group sync.WaitGroup
	stop := make(chan struct{})
	for range 3 {
		group.Go(func() { hammerReader(t, e, stop) })
	}
	var writers sync.WaitGroup
	for i := range sessions {
		writers.Go(func() { hammerWriter(t, e, number("ses", i), messages) })
	}
	writers.Wait()
	close(stop)
	group.Wait()
	for i := range sessions {
		id := number("ses", i)
		ms := e.read(id, store.Page{})
		equal(t, id+": messages", len(ms), messages)
		for k, m := range ms {
			if want := fmt.Sprintf(`"text":"%d.0.1.2"`, k); !strings.Contains(m, want) {
				t.Errorf("%s: message %d = %s, want %s in it", id, k, m, want)
			}
		}
		equal(t, id+": prompts", e.waiting(id), []string{})
	}
}

func hammerWriter(t *testing.T, e *env, id string, messages int) {
	token, err := e.Create(t.Context(), session(id))
	if err != nil {
		t.Error(err)
		return
	}
	last := uint64(1)
	add := func(ops ...store.Op) {
		seq, err := e.Append(t.Context(), token, ops)
		if err != nil || seq < last {
			t.Errorf("Append to %s = %d, %v, after %d", id, seq, err, last)
		}
		last = seq
	}
	for i := range messages {
		p := prompt(id, number("msg", i), "{}")
		check(t, e.Submit(t.Context(), p))
		m := user(id, p.ID)
		part := text(m, number("prt", i), fmt.Sprint(i))
		add(append(put(m, part), store.TakePrompt{PromptID: p.ID}, store.PutSession{Session: session(id)})...)
		for k := range 3 {
			add(store.AppendText{PartID: part.ID, Field: "text", Text: fmt.Sprintf(".%d", k)})
		}
		if i%5 == 4 {
			if token, err = e.Claim(t.Context(), id); err != nil {
				t.Error(err)
			}
		}
	}
}

// hammerReader reads until stop and checks that it never sees half an append.
func hammerReader(t *testing.T, e *env, stop chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		ss, err := e.Sessions(t.Context(), store.Query{})
		check(t, err)
		for _, s := range ss {
			ms, err := e.Messages(t.Context(), s.ID, store.Page{Limit: 3})
			check(t, err)
			for _, m := range ms {
				if len(m.Parts) != 1 {
					t.Errorf("%s has %d parts, want 1: half an append is visible", m.Info.Head().ID, len(m.Parts))
				}
			}
			check(t, failure(e.Changes(t.Context(), s.ID, 3, 10)))
		}
	}
}

// testTwoNodes has two nodes on one store: each writes its own sessions, and both fight for one.
func testTwoNodes(t *testing.T, e *env) {
	e.must(e.Release(t.Context(), e.create("ses_shared")))
	nodes := []*env{e, e.open()}
	var group sync.WaitGroup
	var mu sync.Mutex
	epochs := map[uint64]bool{}
	for i, node := range nodes {
		group.Go(func() {
			own, err := node.Create(t.Context(), session(number("ses", i)))
			if err != nil {
				t.Error(err)
				return
			}
			for k := range 25 {
				check(t, failure(node.Append(t.Context(), own, put(user(own.Session, number("msg", k))))))
				token, err := node.Claim(t.Context(), "ses_shared")
				var owned *store.OwnedError
				if errors.As(err, &owned) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if epochs[token.Epoch] {
					t.Errorf("epoch %d was given twice", token.Epoch)
				}
				epochs[token.Epoch] = true
				mu.Unlock()
				check(t, failure(node.Append(t.Context(), token, put(user("ses_shared", number("msg", int(token.Epoch)))))))
				check(t, node.Release(t.Context(), token))
			}
		})
	}
	group.Wait()
	for i := range nodes {
		equal(t, "messages of a node", len(e.read(number("ses", i), store.Page{})), 25)
	}
	equal(t, "messages of the shared session", len(e.read("ses_shared", store.Page{})), len(epochs))
}
