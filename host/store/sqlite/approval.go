package sqlite

import (
	"context"
	"fmt"

	"github.com/tenonhq/tenon/host/store"
)

// approvalTables is the step that adds what the user allowed for good.
const approvalTables = `
CREATE TABLE approval(
	id INTEGER PRIMARY KEY AUTOINCREMENT, -- not given twice, so that forgetting one cannot hit another
	project TEXT NOT NULL,
	permission TEXT NOT NULL,
	pattern TEXT NOT NULL,
	created INTEGER NOT NULL,
	session TEXT NOT NULL,
	origin TEXT NOT NULL,
	UNIQUE(project, permission, pattern)
);
`

// Approve stores approvals.
func (s *Store) Approve(ctx context.Context, approvals []store.Approval) error {
	return s.submit(ctx, func(ctx context.Context, c *conn) error {
		const insert = "INSERT INTO approval(project, permission, pattern, created, session, origin) VALUES(?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
		for _, a := range approvals {
			if _, err := c.exec(ctx, insert, a.Project, a.Permission, a.Pattern, a.Created, a.Session, a.Origin); err != nil {
				return err
			}
		}
		return nil
	})
}

// Approvals lists the approvals of a project.
func (s *Store) Approvals(ctx context.Context, project string) (out []store.Approval, err error) {
	const query = "SELECT id, permission, pattern, created, session, origin FROM approval WHERE project = ? ORDER BY id"
	err = s.read(ctx, func(c *conn) error {
		return c.query(ctx, query, func(r row) error {
			out = append(out, store.Approval{
				ID: r.int(0), Project: project, Permission: r.text(1), Pattern: r.text(2), Created: r.int(3), Session: r.text(4), Origin: r.text(5),
			})
			return nil
		}, project)
	})
	return out, err
}

// Forget removes one approval of a project, or all.
func (s *Store) Forget(ctx context.Context, project string, id int64) (int, error) {
	var gone int64
	err := s.submit(ctx, func(ctx context.Context, c *conn) (err error) {
		where, args := "project = ?", []any{project}
		if id != 0 {
			where, args = "project = ? AND id = ?", []any{project, id}
		}
		if gone, err = c.number(ctx, "SELECT count(*) FROM approval WHERE "+where, args...); err != nil {
			return err
		}
		if gone == 0 && id != 0 {
			return refuse(fmt.Errorf("approval %d: %w", id, store.ErrNotFound))
		}
		_, err = c.exec(ctx, "DELETE FROM approval WHERE "+where, args...)
		return err
	})
	return int(gone), err
}
