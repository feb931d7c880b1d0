package sqlite

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/node"
	"github.com/tenonhq/tenon/internal/pause"
)

// application marks our files: "tnon" in ASCII. See https://www.sqlite.org/pragma.html#pragma_application_id
const application = 0x746e6f6e

// busyWait bounds waiting for the write lock of another process.
const busyWait = 10 * time.Second

// largeFile is the size in bytes from which a migration warns the user that it takes time.
const largeFile = 64 << 20

// step leads from one version of the schema to the next.
type step struct {
	sql  string
	fill func(*database.Tx) // what SQL alone cannot do, after it; may be nil
}

// The SQL of the steps.
var (
	//go:embed schema/1.sql
	sql1 string
	//go:embed schema/2.sql
	sql2 string
	//go:embed schema/3.sql
	sql3 string
	//go:embed schema/4.sql
	sql4 string
)

// schema returns the steps that lead from an empty file to the current version: step i makes version i+1.
// A step that was released never changes; a change is a further step.
func schema() []step {
	return []step{
		{sql: sql1},
		{sql: sql2, fill: fillSearch},
		{sql: sql3},
		{sql: sql4, fill: fillBriefs},
	}
}

// ready makes sure that the file has the current schema: it creates one in an empty file, and migrates
// an older one after it made a copy.
func (s *Store) ready(ctx context.Context, c *database.Conn) error {
	if err := c.Script(ctx, "PRAGMA busy_timeout=0"); err != nil { // from here on we wait by ourselves; see begin
		return err
	}
	told := false
	for begun := time.Now(); ; {
		err := s.current(ctx, c)
		if errors.Is(err, errNotCurrent) {
			err = node.Outlast(ctx, func() error { return s.migrate(ctx, c) })
		}
		waited := time.Since(begun)
		// A migration may take minutes; who makes it is a live node.
		if !database.Busy(err) || waited > s.busyWait && !s.node.Company() {
			return err
		}
		if !told && waited > time.Second {
			told = true
			s.log.Warn("waiting for another process, which may be migrating the session store", "path", s.path)
		}
		if err := pause.For(ctx, 2*time.Millisecond); err != nil {
			return err
		}
	}
}

var errNotCurrent = errors.New("schema is not current")

// current returns nil when the schema is current and errNotCurrent when migrate can make it so.
func (s *Store) current(ctx context.Context, c *database.Conn) error {
	x := &database.Tx{Ctx: ctx, Conn: c}
	// In this order, because another process may create the schema meanwhile: it must not seem to have tables and no owner.
	tables, version, owner := x.Number("SELECT count(*) FROM sqlite_schema"), x.Number("PRAGMA user_version"), x.Number("PRAGMA application_id")
	empty := tables == 0 && version == 0 && owner == 0
	switch {
	case x.Err() != nil:
		return x.Err()
	case empty:
		return errNotCurrent
	case owner != application:
		return fmt.Errorf("%w: %s belongs to another program: choose another file", store.ErrCorrupt, s.path)
	case version < int64(len(s.steps)):
		return errNotCurrent
	}
	return s.newer(version)
}

func (s *Store) newer(version int64) error {
	if version <= int64(len(s.steps)) {
		return nil
	}
	return fmt.Errorf("%w: %s has version %d, tenon %s knows versions up to %d: update tenon",
		store.ErrNewer, s.path, version, s.version, len(s.steps))
}

func (s *Store) migrate(ctx context.Context, c *database.Conn) (err error) {
	if err := c.Script(ctx, "PRAGMA journal_mode=WAL; BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			s.rollback(ctx, c)
		}
	}()
	// Another process may have been quicker.
	if err := s.current(ctx, c); err == nil {
		return c.Script(ctx, "COMMIT")
	} else if !errors.Is(err, errNotCurrent) {
		return err
	}
	version, err := c.Number(ctx, "PRAGMA user_version")
	if err != nil {
		return err
	}
	if version > 0 {
		if err := s.alone(ctx, c, version); err != nil {
			return err
		}
		if err := s.backup(ctx, version); err != nil {
			return fmt.Errorf("copy before migration: %w", err)
		}
	}
	if err := s.runSteps(ctx, c, int(version)); err != nil {
		return err
	}
	end := fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT", application, len(s.steps))
	return c.Script(ctx, end)
}

// rollback ends a transaction that failed. After some errors, a full disk among them, SQLite has rolled back by itself.
func (s *Store) rollback(ctx context.Context, c *database.Conn) {
	if err := c.Script(ctx, "ROLLBACK"); err != nil {
		s.log.Debug("rollback", "err", err)
	}
}

// runSteps leads from a version to the current one.
func (s *Store) runSteps(ctx context.Context, c *database.Conn, version int) error {
	x := &database.Tx{Ctx: ctx, Conn: c}
	for ; version < len(s.steps); version++ {
		x.Fail(c.Script(ctx, s.steps[version].sql))
		if fill := s.steps[version].fill; fill != nil && x.Err() == nil {
			fill(x)
		}
		if x.Err() != nil {
			return fmt.Errorf("migrate to version %d: %w", version+1, x.Err())
		}
	}
	return nil
}

// fillIn makes the update, of a key ?1 and a text ?2, for each row of the query with a text. The query returns rows above key ?1, in
// order; their first column is the key. Some rows at a time: a statement must not see its own changes.
func fillIn(x *database.Tx, query, update string, text func(database.Row) string) {
	for low, more := int64(-1), true; more; {
		texts := map[int64]string{}
		more = false
		x.Each(query+" LIMIT 1000", func(r database.Row) {
			low, more = r.Int(0), true
			if t := text(r); t != "" {
				texts[low] = t
			}
		}, low)
		for _, key := range slices.Sorted(maps.Keys(texts)) {
			x.Exec(update, key, texts[key])
		}
	}
}

// alone refuses to migrate while another process has a session: that one is of an older version and could not go on. It
// makes this process a node, so that other processes see that it works.
func (s *Store) alone(ctx context.Context, c *database.Conn, version int64) error {
	var inUse error
	err := c.Query(ctx, "SELECT id, node, pid FROM head WHERE node <> '' ORDER BY id", func(r database.Row) error {
		inUse = cmp.Or(inUse, s.free(r.Text(0), r.Text(1), int(r.Int(2))))
		return nil
	})
	if err != nil {
		return err
	}
	if inUse != nil {
		return refuse(fmt.Errorf("%w: %s has version %d, this tenon migrates it to version %d, and an older tenon uses it: %w",
			store.ErrOlder, s.path, version, len(s.steps), inUse))
	}
	if err := s.node.Hold(); err != nil {
		return refuse(s.explainFile(err))
	}
	return nil
}

// backup copies the database as it is, next to it. The caller holds the write lock, so the copy has the
// version it is named for.
func (s *Store) backup(ctx context.Context, version int64) (err error) {
	target := fmt.Sprintf("%s.v%d.bak", s.path, version)
	temp := target + ".tmp"
	if err := os.WriteFile(temp, nil, 0o600); err != nil {
		return s.explainFile(err)
	}
	c, err := database.Connect(ctx, database.URI(s.path))
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, "VACUUM INTO ?", temp)
	if err = errors.Join(err, c.Close()); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	if info, err := os.Stat(temp); err == nil && info.Size() > largeFile {
		s.log.Warn("migrating the session store to a new version; this may take minutes", "megabytes", info.Size()>>20)
	}
	s.log.Info("session store is migrated", "from", version, "to", len(s.steps), "copy", target)
	return os.Rename(temp, target)
}
