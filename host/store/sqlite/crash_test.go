package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/host/store"
)

// Rounds of the crash test: TENON_CRASH_ROUNDS, or this many.
const crashRounds = 10

const crashSessions = 4

// TestCrash kills a writing process at a random moment, many times on one database, and checks after each
// time that all it was told to be stored is there, that nothing is there by half, and that its sessions
// can be taken over at once.
func TestCrash(t *testing.T) {
	t.Parallel()
	rounds := rounds(t)
	dir := t.TempDir()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	total := 0
	for round := range rounds {
		acked, claimed := crash(t, dir, round, random.IntN(300))
		s := openAt(t, dir)
		wantSound(t, s)
		for w := range crashSessions {
			id := crashSession(round, w)
			total += acked[id]
			checkCrashed(t, s, id, acked[id], claimed[id])
		}
		must(t, s.Close())
		if t.Failed() {
			t.Fatalf("round %d of %d", round, rounds)
		}
	}
	t.Logf("%d rounds, %d acknowledged appends, none lost", rounds, total)
}

func crashSession(round, w int) string { return fmt.Sprintf("ses_%d_%d", round, w) }

// crash runs a child until it has reported as many appends, kills it, and returns how many appends it
// reported in all for each session, and which sessions it had.
func crash(t *testing.T, dir string, round, reports int) (acked map[string]int, claimed map[string]bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], filepath.Join(dir, "tenon.db"), strconv.Itoa(round))
	cmd.Env = append(os.Environ(), childVar+"=crash")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	acked, claimed = map[string]int{}, map[string]bool{}
	lines := bufio.NewScanner(out)
	for n := 0; lines.Scan(); n++ {
		var id string
		var steps int
		if _, err := fmt.Sscan(lines.Text(), &id, &steps); err != nil {
			continue // a line cut by the end of the process
		}
		acked[id], claimed[id] = max(acked[id], steps), true
		if n == reports {
			must(t, cmd.Process.Kill())
		}
	}
	must(t, lines.Err())
	_, _ = io.Copy(io.Discard, out)
	if err := cmd.Wait(); err == nil {
		t.Error("the child ended by itself")
	}
	return acked, claimed
}

// crashChild writes sessions until it is killed. It reports each session with zero once it has it, and
// then the number of its appends that are durable.
func crashChild(ctx context.Context, path string) error {
	s, err := Open(ctx, Options{Path: path})
	if err != nil {
		return err
	}
	round, err := strconv.Atoi(os.Args[2])
	if err != nil {
		return err
	}
	var mu sync.Mutex
	report := func(id string, steps int) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Println(id, steps)
	}
	errs := make(chan error)
	for w := range crashSessions {
		go func() { errs <- crashWriter(ctx, s, crashSession(round, w), report) }() // until it is killed
	}
	return <-errs
}

func crashWriter(ctx context.Context, s *Store, id string, report func(string, int)) error {
	token, err := s.Create(ctx, aSession(id))
	if err != nil {
		return err
	}
	report(id, 0)
	for n := 0; ; n++ {
		if _, err := s.Append(ctx, token, crashStep(id, n)); err != nil {
			return err
		}
		report(id, n+1)
	}
}

// crashStep returns the append number n. Five of them make a message: its part opens, grows, is put whole.
func crashStep(id string, n int) []store.Op {
	i, phase := n/5, n%5
	p := aPart(id, i, strconv.Itoa(i))
	switch phase {
	case 0:
		return []store.Op{store.SetTurn{Open: true}, store.PutMessage{Message: aMessage(id, i)}, store.PutPart{Part: p},
			store.PutLedger{MessageID: p.MessageID, Entries: []byte("[]")}}
	case 4:
		p.Text += " whole"
		return []store.Op{store.PutPart{Part: p}, store.PutBlob{Content: []byte(id + p.ID)}}
	}
	text := fmt.Sprint(".", phase)
	return []store.Op{store.AppendText{PartID: p.ID, Field: "text", Text: text[:1]},
		store.AppendText{PartID: p.ID, Field: "text", Text: text[1:]}}
}

// crashTexts returns the texts of a session after n appends.
func crashTexts(n int) []string {
	out := []string{}
	for i := 0; i*5 < n; i++ {
		text := strconv.Itoa(i)
		done := min(n-i*5, 5)
		for phase := 1; phase < min(done, 4); phase++ {
			text += fmt.Sprint(".", phase)
		}
		if done == 5 {
			text = strconv.Itoa(i) + " whole"
		}
		out = append(out, text)
	}
	return out
}

func checkCrashed(t *testing.T, s *Store, id string, acked int, claimed bool) {
	t.Helper()
	token, err := s.Claim(t.Context(), id)
	if errors.Is(err, store.ErrNotFound) && !claimed {
		return
	}
	must(t, err)
	if token.Epoch != 2 {
		t.Errorf("%s: epoch %d, want 2", id, token.Epoch)
	}
	// The last append may have reached the disk without its report having reached us.
	got := texts(t, s, id)
	if d := cmp.Diff(crashTexts(acked), got); d != "" {
		if next := cmp.Diff(crashTexts(acked+1), got); next != "" {
			t.Errorf("%s after %d appends (-want +got):\n%s", id, acked, d)
		}
	}
	ledger, err := s.Ledger(t.Context(), id, "")
	must(t, err)
	if len(ledger) != len(got) {
		t.Errorf("%s: %d ledger entries, %d messages", id, len(ledger), len(got))
	}
	for i := range acked / 5 {
		content := id + aPart(id, i, "").ID
		if b, err := s.Blob(t.Context(), store.Hash([]byte(content))); err != nil || string(b) != content {
			t.Errorf("%s: blob %d = %q, %v", id, i, b, err)
		}
	}
	must(t, s.Release(t.Context(), token))
	open, err := s.Interrupted(t.Context())
	must(t, err)
	if turns := len(got) > 0; turns != slices.Contains(open, id) {
		t.Errorf("%s: interrupted = %v, want %v", id, slices.Contains(open, id), turns)
	}
	appendTo(t, s, reclaim(t, s, id), store.SetTurn{Open: false})
}

func reclaim(t *testing.T, s *Store, id string) store.Token {
	t.Helper()
	token, err := s.Claim(t.Context(), id)
	must(t, err)
	return token
}
