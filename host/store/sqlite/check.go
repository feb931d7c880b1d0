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
		var found string
		if _, err := c.first(ctx, "PRAGMA integrity_check(1)", func(r row) { found = r.text(0) }); err != nil {
			return err
		}
		if found != "ok" {
			return fmt.Errorf("%w: %s", store.ErrCorrupt, found)
		}
		return nil
	})
}
