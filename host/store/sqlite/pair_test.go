package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
	"github.com/tenonhq/tenon/sdk"
)

const pairRounds = 40

// TestTwoProcesses has two processes create one database together, write to sessions of their own, and
// fight for a third session.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var group sync.WaitGroup
	var mu sync.Mutex
	owner := map[int]string{} // epoch of the shared session -> process
	for _, name := range []string{"a", "b"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], filepath.Join(dir, "tenon.db"), name)
		cmd.Env = append(os.Environ(), childVar+"=pair")
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		group.Go(func() {
			for lines := bufio.NewScanner(out); lines.Scan(); {
				var epoch int
				if _, err := fmt.Sscanf(lines.Text(), "won %d", &epoch); err != nil {
					t.Errorf("process %s: %q", name, lines.Text())
					continue
				}
				mu.Lock()
				if owner[epoch] != "" {
					t.Errorf("epoch %d was given to %s and to %s", epoch, owner[epoch], name)
				}
				owner[epoch] = name
				mu.Unlock()
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("process %s: %v", name, err)
			}
		})
	}
	group.Wait()
	s := openAt(t, dir)
	wantSound(t, s)
	for _, name := range []string{"a", "b"} {
		if n := len(texts(t, s, "ses_"+name)); n != pairRounds {
			t.Errorf("session of process %s has %d messages, want %d", name, n, pairRounds)
		}
	}
	// Each epoch wrote one message, and they came in the order of the epochs.
	ms, err := s.Messages(t.Context(), "ses_shared", store.Page{})
	must(t, err)
	last := ""
	for _, m := range ms {
		p := m.Parts[0].(*sdk.TextPart)
		if p.ID <= last {
			t.Errorf("part %s of process %s after %s", p.ID, p.Text, last)
		}
		last = p.ID
	}
	if len(ms) != len(owner) || len(ms) == 0 {
		t.Errorf("shared session has %d messages, %d epochs won", len(ms), len(owner))
	}
	for epoch := 1; epoch <= len(owner); epoch++ {
		if owner[epoch] == "" {
			t.Errorf("epoch %d has no owner", epoch)
		}
	}
}

func pairChild(ctx context.Context, path string) error {
	s, err := Open(ctx, Options{Path: path})
	if err != nil {
		return err
	}
	name := os.Args[2]
	own, err := s.Create(ctx, aSession("ses_"+name))
	if err != nil {
		return err
	}
	shared, err := s.Create(ctx, aSession("ses_shared"))
	if err == nil {
		if err := won(ctx, s, shared, name); err != nil {
			return err
		}
	} else if !errors.Is(err, store.ErrExists) {
		return err
	}
	for n := range pairRounds {
		ops := []store.Op{store.PutMessage{Message: aMessage(own.Session, n)}, store.PutPart{Part: aPart(own.Session, n, name)}}
		if _, err := s.Append(ctx, own, ops); err != nil {
			return err
		}
		token, err := s.Claim(ctx, "ses_shared")
		var owned *store.OwnedError
		if errors.As(err, &owned) && owned.PID != os.Getpid() {
			continue
		}
		if err != nil {
			return err
		}
		if err := won(ctx, s, token, name); err != nil {
			return err
		}
	}
	return s.Close()
}

// won writes one message with the number of the epoch to the shared session and gives it up.
func won(ctx context.Context, s *Store, token store.Token, name string) error {
	fmt.Println("won", token.Epoch)
	n := int(token.Epoch)
	ops := []store.Op{store.PutMessage{Message: aMessage(token.Session, n)}, store.PutPart{Part: aPart(token.Session, n, name)}}
	if _, err := s.Append(ctx, token, ops); err != nil {
		return err
	}
	return s.Release(ctx, token)
}

// A process that only waits for the lock of another is not an error, unless it takes too long.
func TestBusy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openAt(t, dir)
	token := createIn(t, s, "ses_a")
	other, err := database.Connect(t.Context(), database.URI(s.path))
	must(t, err)
	defer other.Close()
	must(t, other.Script(t.Context(), "BEGIN IMMEDIATE"))
	done := make(chan error)
	go func() { // ends when other commits
		_, err := s.Append(t.Context(), token, []store.Op{store.PutMessage{Message: aMessage("ses_a", 1)}})
		done <- err
	}()
	must(t, other.Script(t.Context(), "COMMIT"))
	must(t, <-done)

	onWriter(t, s, func(context.Context, *database.Conn) error { // by the goroutine that uses it
		s.busyWait = time.Millisecond
		return nil
	})
	must(t, other.Script(t.Context(), "BEGIN IMMEDIATE"))
	_, err = s.Append(t.Context(), token, []store.Op{store.PutMessage{Message: aMessage("ses_a", 2)}})
	if err == nil || !strings.Contains(err.Error(), s.path+" is locked by another process") {
		t.Errorf("Append while another process keeps the lock = %v", err)
	}
	must(t, other.Script(t.Context(), "COMMIT"))
	appendTo(t, s, token, store.PutMessage{Message: aMessage("ses_a", 2)})
}
