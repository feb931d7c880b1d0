package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

// MaxSessions limits the number of sessions that are searched for a prefix.
const MaxSessions = 1 << 20

// ArgumentSession returns the session named by the argument of a command, by default the latest.
func ArgumentSession(ctx context.Context, w *Workspace, s store.Store, args []string) (*sdk.Session, error) {
	if len(args) == 0 {
		latest, err := LatestSession(ctx, w, s)
		if latest == nil {
			return nil, err
		}
		if err = w.App.WithoutDamage(err); err == nil && latest.Directory != w.SessionDirectory() {
			w.App.Say("note: no session was started in this directory; using the latest of the project, started in %s", latest.Directory)
		}
		return latest, err
	}
	found, err := FindSession(ctx, s, args[0])
	return found, w.App.WithoutDamage(err)
}

// FindSession finds a session by its ID or a unique prefix. With a *store.DamageError, it also returns the undamaged data.
func FindSession(ctx context.Context, s store.Store, id string) (*sdk.Session, error) {
	if id == "" { // an empty text is a prefix of every ID
		return nil, UsageError("tenon session list shows the sessions", "the ID of the session is empty")
	}
	found, _, err := s.Session(ctx, id)
	if err == nil || !errors.Is(err, store.ErrNotFound) {
		return found, err
	}
	all, err := s.List(ctx, store.Query{Children: true, Archived: true, Limit: MaxSessions})
	if _, err = store.Readable(err); err != nil { // the list includes damaged ones
		return nil, err
	}
	matches := slices.DeleteFunc(all, func(s store.Listed) bool {
		return !strings.HasPrefix(s.ID, id) && !strings.HasPrefix(s.ID, sdk.PrefixSession+"_"+id)
	})
	switch len(matches) {
	case 1:
		found, _, err := s.Session(ctx, matches[0].ID)
		return found, err
	case 0:
		return nil, UsageError("tenon session list shows the sessions", "session %q not found", id)
	}
	return nil, UsageError("write more of the ID; tenon session list shows the sessions", "session %q is ambiguous", id)
}

// LatestSession returns the latest session of this directory, or else of any directory in the same working tree. Other clones of the
// repository belong to the same project, but have other files. It returns errors like FindSession.
func LatestSession(ctx context.Context, w *Workspace, s store.Store) (*sdk.Session, error) {
	list, err := s.Sessions(ctx, store.Query{Directory: w.SessionDirectory(), Limit: 1})
	if len(list) > 0 {
		return &list[0], err
	}
	if err != nil {
		return nil, err
	}
	fix := "start one with tenon run, or name one that tenon session list --all shows"
	if w.Project.Git {
		all, err := s.List(ctx, store.Query{ProjectID: w.ProjectID(), Limit: MaxSessions})
		if _, err = store.Readable(err); err != nil {
			return nil, err
		}
		for i := range all {
			if projectfs.Inside(w.Project.Worktree, projectfs.Real(all[i].Directory)) {
				found, _, err := s.Session(ctx, all[i].ID)
				return found, err
			}
		}
		if len(all) > 0 && w.ProjectID() != GlobalProject { // of a clone or another working tree, or the project was moved
			fix = fmt.Sprintf("start one with tenon run, or choose a session of this repository; the latest is %s, started in %s", all[0].ID, all[0].Directory)
		}
	}
	return nil, UsageError(fix, "no sessions in %s yet", w.Project.Directory)
}

// FindMessage finds a message of a session by its ID or a unique prefix, and returns its ID.
func FindMessage(ctx context.Context, s store.Store, session, id string) (string, error) {
	if id == "" {
		return "", nil
	}
	list, err := s.Messages(ctx, session, store.Page{})
	if _, err = store.Readable(err); err != nil { // undamaged messages can be found
		return "", err
	}
	found := ""
	for _, m := range list {
		candidate := m.Info.Head().ID
		switch {
		case candidate == id:
			return id, nil
		case !strings.HasPrefix(candidate, id):
		case found != "":
			return "", UsageError("write more of the ID", "message %q is ambiguous", id)
		default:
			found = candidate
		}
	}
	if found == "" {
		return "", UsageError("tenon session show prints the IDs of prompts", "message %q not found in session %s", id, session)
	}
	return found, nil
}

// adopt moves the sessions and approvals that a repository had before its first commit to its project. It may be repeated: a session that another
// process uses is not moved, and causes an error. At the path of a known project, approvals are removed instead: they are those of an earlier
// repository, or copies that older versions left behind.
func adopt(ctx context.Context, s store.Store, project sdk.Project, known bool) error {
	list, err := s.List(ctx, store.Query{ProjectID: GlobalProject, Children: true, Archived: true, Limit: MaxSessions})
	if _, err = store.Readable(err); err != nil {
		return err
	}
	var failed error
	for _, l := range list {
		if root, git := findWorktree(l.Directory); !git || root != project.Worktree {
			continue
		}
		_, err := EditSession(ctx, s, l.ID, func(info *sdk.Session) string {
			info.ProjectID = project.ID
			return project.ID
		})
		failed = errors.Join(failed, err)
	}
	before := project
	before.ID = GlobalProject
	from := permission.ApprovalProject(before)
	approvals, err := s.Approvals(ctx, from)
	if failed = errors.Join(failed, err); failed != nil || len(approvals) == 0 {
		return failed
	}
	for i := range approvals {
		approvals[i].Project, approvals[i].ID = permission.ApprovalProject(project), 0
	}
	if !known {
		failed = s.Approve(ctx, approvals)
	}
	if failed == nil {
		_, failed = s.Forget(ctx, from, 0)
	}
	return failed
}

// EditSession claims a session and changes it. It returns the text of change.
func EditSession(ctx context.Context, s store.Store, id string, change func(*sdk.Session) string) (text string, err error) {
	token, err := s.Claim(ctx, id)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.Release(context.WithoutCancel(ctx), token)) }()
	info, _, err := s.Session(ctx, id)
	if err != nil {
		return "", err
	}
	text = change(info)
	if _, err = s.Append(ctx, token, []store.Op{store.PutSession{Session: info}}); err != nil {
		return "", fmt.Errorf("change session %s: %w", id, err)
	}
	return text, nil
}
