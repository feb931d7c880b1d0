package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// adopt moves the sessions and approvals that a repository had before its first commit to its project. It may be repeated: a session that another
// process uses stays, and is an error.
func adopt(ctx context.Context, s store.Store, project sdk.Project) error {
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
	approvals, err := s.Approvals(ctx, permission.ApprovalProject(before))
	if err != nil {
		return errors.Join(failed, err)
	}
	for i := range approvals {
		approvals[i].Project, approvals[i].ID = permission.ApprovalProject(project), 0
	}
	if len(approvals) > 0 && failed == nil {
		failed = s.Approve(ctx, approvals)
	}
	return failed
}

// EditSession claims a session and changes it, unless change returns an empty text. It returns that text.
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
	if text = change(info); text == "" {
		return "", nil
	}
	if _, err = s.Append(ctx, token, []store.Op{store.PutSession{Session: info}}); err != nil {
		return "", fmt.Errorf("change session %s: %w", id, err)
	}
	return text, nil
}
