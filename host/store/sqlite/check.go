package sqlite

import (
	"context"
	"fmt"

	"github.com/tenonhq/tenon/host/store"
)

// Check looks through the whole database for damage. Errors wrap store.ErrCorrupt and say what is wrong
// first.
func (s *Store) Check(ctx context.Context) error {
	return s.read(ctx, func(c *conn) error {
		// The check takes what the connection remembers of the index for what is stored, also when another connection has
		// changed it since; a search makes it look.
		if _, err := c.number(ctx, found, `"x"`, int64(1)); err != nil {
			return err
		}
		var answer string
		if _, err := c.first(ctx, "PRAGMA integrity_check(1)", func(r row) { answer = r.text(0) }); err != nil {
			return err
		}
		if answer != "ok" {
			return fmt.Errorf("%w: %s: %s", store.ErrCorrupt, s.path, answer)
		}
		return nil
	})
}
