package sqlite

import (
	"cmp"
	"context"
	"embed"
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

// step migrates the schema from one version to the next.
type step struct {
	sql  string
	fill func(*database.Tx) // runs after sql; may be nil
}

// The SQL of the steps.
//
//go:embed schema/*.sql
var sqlFiles embed.FS

// schema returns the steps from an empty file to the current version: step i creates version i+1. Released steps never change; a change of the
// schema is a new step.
func schema() []step {
	steps := []step{{}, {fill: fillSearch}, {}, {fill: fillBriefs}}
	for i := range steps {
		sql, _ := sqlFiles.ReadFile(fmt.Sprintf("schema/%d.sql", i+1)) // embedded
		steps[i].sql = string(sql)
	}
	return steps
}

// ready creates the schema in an empty file, and migrates an older one after it made a copy.
func (s *Store) ready(ctx context.Context, c *database.Conn) error {
	if err := c.Script(ctx, "PRAGMA busy_timeout=0"); err != nil { // begin waits instead
		return err
	}
	warned := false
	for begun := time.Now(); ; {
		err := s.current(ctx, c)
		if errors.Is(err, errNotCurrent) {
			err = node.Outlast(ctx, func() error { return s.migrate(ctx, c) })
		}
		waited := time.Since(begun)
		// Another process that migrates the file is a live node, and may take minutes.
		if !database.Busy(err) || waited > s.busyWait && !s.node.Company() {
			return err
		}
		if !warned && waited > time.Second {
			warned = true
			s.log.Warn("waiting for another process, which may be migrating the session store", "path", s.path)
		}
		if err := pause.For(ctx, 2*time.Millisecond); err != nil {
			return err
		}
	}
}

// errNotCurrent reaches the user only from Rebuild, which needs the current schema.
var errNotCurrent = fmt.Errorf("%w: it is empty or of an older version, which cannot be repaired: export its sessions with the tenon that wrote it",
	store.ErrCorrupt)

// current returns nil when the schema is current and errNotCurrent when migrate can make it so.
func (s *Store) current(ctx context.Context, c *database.Conn) error {
	x := &database.Tx{Ctx: ctx, Conn: c}
	// In this order: another process may create the schema in between, which must not look like tables of another program.
	tables, version, owner := x.Number("SELECT count(*) FROM sqlite_schema"), x.Number("PRAGMA user_version"), x.Number("PRAGMA application_id")
	empty := tables == 0 && version == 0 && owner == 0
	switch {
	case x.Err() != nil:
		return x.Err()
	case empty:
		return errNotCurrent
	case owner != application || version < 0: // a negative version means a damaged header
		return fmt.Errorf("%w: %s belongs to another program, or its header is damaged: choose another file", store.ErrCorrupt, s.path)
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
	// Another process may have migrated it first.
	if err := s.current(ctx, c); err == nil {
		return c.Script(ctx, "COMMIT")
	} else if !errors.Is(err, errNotCurrent) {
		return err
	}
	x := &database.Tx{Ctx: ctx, Conn: c}
	version := x.Number("PRAGMA user_version")
	if version > 0 {
		if s.alone(x, version); x.Err() != nil {
			return x.Err()
		}
		if err := s.backup(ctx, version); err != nil {
			return fmt.Errorf("copy before migration: %w", err)
		}
	}
	if s.runSteps(x, int(version)); x.Err() != nil {
		return x.Err()
	}
	end := fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT", application, len(s.steps))
	return c.Script(ctx, end)
}

// rollback ends a failed transaction. After some errors, such as a full disk, SQLite has rolled it back already.
func (s *Store) rollback(ctx context.Context, c *database.Conn) {
	if err := c.Script(ctx, "ROLLBACK"); err != nil {
		s.log.Debug("rollback", "err", err)
	}
}

// runSteps migrates the schema from a version to the current one.
func (s *Store) runSteps(x *database.Tx, version int) {
	for ; version < len(s.steps) && x.Err() == nil; version++ {
		x.Fail(x.Conn.Script(x.Ctx, s.steps[version].sql))
		if fill := s.steps[version].fill; fill != nil && x.Err() == nil {
			fill(x)
		}
		x.Annotate("migrate to version %d", version+1)
	}
}

// fillIn runs the update, with a key as ?1 and a text as ?2, for each row of the query for which text returns one. The query returns the rows
// above key ?1 in order; their first column is the key. It runs in portions, because a statement must not see its own changes.
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

// alone fails while another process owns a session, because its older version of tenon could not continue after a migration. It
// makes this process a node, so that other processes see that it is working.
func (s *Store) alone(x *database.Tx, version int64) {
	var inUse error
	x.Each("SELECT id, node, pid FROM head WHERE node <> '' ORDER BY id", func(r database.Row) {
		inUse = cmp.Or(inUse, s.free(r.Text(0), r.Text(1), int(r.Int(2))))
	})
	if inUse != nil {
		x.Fail(refuse(fmt.Errorf("%w: %s has version %d, this tenon migrates it to version %d, and an older tenon uses it: %w",
			store.ErrOlder, s.path, version, len(s.steps), inUse)))
	}
	s.hold(x)
}

// backup copies the database to a file next to it. The caller holds the write lock, so the copy has the version in its name.
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
		return errors.Join(err, os.Remove(temp), removeBeside(temp))
	}
	if info, err := os.Stat(temp); err == nil && info.Size() > largeFile {
		s.log.Warn("migrating the session store to a new version; this may take minutes", "megabytes", info.Size()>>20)
	}
	s.log.Info("session store is migrated", "from", version, "to", len(s.steps), "copy", target)
	return os.Rename(temp, target)
}
