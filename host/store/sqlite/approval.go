package sqlite

import (
	"context"
	"fmt"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
)

// Approve stores approvals.
func (s *Store) Approve(ctx context.Context, approvals []store.Approval) error {
	return s.submit(ctx, func(x *database.Tx) {
		const insert = "INSERT INTO approval(project, permission, pattern, created, session, origin) VALUES(?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
		for _, a := range approvals {
			x.Exec(insert, a.Project, a.Permission, a.Pattern, a.Created, a.Session, a.Origin)
		}
	})
}

// Approvals lists the approvals of a project.
func (s *Store) Approvals(ctx context.Context, project string) ([]store.Approval, error) {
	return s.approvals(ctx, "WHERE project = ?", project)
}

// approvals returns the approvals that can be read, even if it also returns an error.
func (s *Store) approvals(ctx context.Context, where string, args ...any) (out []store.Approval, err error) {
	query := "SELECT id, project, permission, pattern, created, session, origin FROM approval " + where + " ORDER BY id"
	err = s.read(ctx, func(x *view) {
		out = database.All(x.Tx, query, func(r database.Row) store.Approval {
			return store.Approval{
				ID: r.Int(0), Project: r.Text(1), Permission: r.Text(2), Pattern: r.Text(3), Created: r.Int(4), Session: r.Text(5), Origin: r.Text(6),
			}
		}, args...)
	})
	return out, err
}

// Forget removes one approval of a project, or all.
func (s *Store) Forget(ctx context.Context, project string, id int64) (int, error) {
	var removed int64
	err := s.submit(ctx, func(x *database.Tx) {
		removed = x.Exec("DELETE FROM approval WHERE project = ?1 AND (?2 = 0 OR id = ?2)", project, id)
		if removed == 0 && id != 0 {
			x.Fail(refuse(fmt.Errorf("approval %d: %w", id, store.ErrNotFound)))
		}
	})
	if err != nil {
		return 0, err // removed belongs to the writer, which may still run the job
	}
	return int(removed), nil
}
