package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/tenonhq/tenon/host/store"
)

// application marks our files: "tnon" in ASCII. See https://www.sqlite.org/pragma.html#pragma_application_id
const application = 0x746e6f6e

// busyWait bounds waiting for the write lock of another process.
const busyWait = 10 * time.Second

// largeFile is a size from which on the user is told that a migration takes time.
const largeFile = 64 << 20

// step leads from one version of the schema to the next.
type step struct {
	sql  string
	fill func(ctx context.Context, c *conn) error // what SQL alone cannot do, after it; may be nil
}

// schema returns the steps that lead from an empty file to the current version: step i makes version i+1.
// A step that was released never changes; a change is a further step.
func schema() []step {
	return []step{
		{sql: tables},
		{sql: searchTables, fill: fillSearch},
		{sql: approvalTables},
		{sql: listingTables, fill: fillBriefs},
	}
}

// tables are those of version 1. There are no foreign keys: rows belong to a session by the range of their keys.
const tables = `
-- What every append reads and writes, kept small.
CREATE TABLE head(
	key INTEGER PRIMARY KEY,
	id TEXT NOT NULL UNIQUE,
	seq INTEGER NOT NULL,
	epoch INTEGER NOT NULL,
	node TEXT NOT NULL,      -- who owns the session; empty: nobody
	pid INTEGER NOT NULL,
	turn INTEGER NOT NULL    -- 1 while a turn is open
);
CREATE INDEX head_turn ON head(id, node) WHERE turn = 1;

-- The epochs of deleted sessions, so that one that comes back under its old name fences old tokens too.
CREATE TABLE gone(id TEXT PRIMARY KEY, epoch INTEGER NOT NULL) WITHOUT ROWID;

CREATE TABLE session(
	key INTEGER PRIMARY KEY,
	stamp INTEGER NOT NULL,
	id TEXT NOT NULL,
	parent TEXT NOT NULL,
	updated INTEGER NOT NULL,
	project TEXT NOT NULL,
	directory TEXT NOT NULL,
	title TEXT NOT NULL,     -- in lower case, for searching
	data TEXT NOT NULL
);
CREATE INDEX session_parent ON session(parent, updated DESC, id, project, directory);
CREATE INDEX session_updated ON session(updated DESC, id, project, directory);

CREATE TABLE message(key INTEGER PRIMARY KEY, stamp INTEGER NOT NULL, id TEXT NOT NULL, data TEXT NOT NULL);
CREATE INDEX message_id ON message(id);
CREATE UNIQUE INDEX message_stamp ON message(stamp);

CREATE TABLE part(
	key INTEGER PRIMARY KEY,
	stamp INTEGER NOT NULL,
	id TEXT NOT NULL,
	field TEXT NOT NULL,     -- which text can be appended to: text, raw or none
	data TEXT NOT NULL
);
CREATE INDEX part_id ON part(id);
CREATE UNIQUE INDEX part_stamp ON part(stamp);

-- Text appended to a part since it was put.
CREATE TABLE delta(part INTEGER, stamp INTEGER, text TEXT NOT NULL, PRIMARY KEY(part, stamp)) WITHOUT ROWID;

CREATE TABLE removed(stamp INTEGER PRIMARY KEY, type TEXT NOT NULL, id TEXT NOT NULL);
CREATE TABLE todo(session INTEGER PRIMARY KEY, stamp INTEGER NOT NULL, data TEXT NOT NULL);

-- Prompts that were taken stay without data, so that their identifiers are known.
CREATE TABLE prompt(session INTEGER, id TEXT, number INTEGER NOT NULL, data TEXT, PRIMARY KEY(session, id)) WITHOUT ROWID;
CREATE INDEX prompt_waiting ON prompt(session, number) WHERE data IS NOT NULL;

CREATE TABLE ledger(key INTEGER PRIMARY KEY, message TEXT NOT NULL, purpose TEXT NOT NULL, entries TEXT NOT NULL);

CREATE TABLE blob(key INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, data BLOB NOT NULL); -- data: zstd
CREATE TABLE blob_session(session INTEGER, blob INTEGER, PRIMARY KEY(session, blob)) WITHOUT ROWID;
CREATE INDEX blob_session_blob ON blob_session(blob);
`

// ready makes sure that the file has the current schema: it creates one in an empty file, and migrates
// an older one after it made a copy.
func (s *Store) ready(ctx context.Context, c *conn) error {
	if err := c.script(ctx, "PRAGMA busy_timeout=0"); err != nil { // from here on we wait by ourselves; see begin
		return err
	}
	told := false
	for begun := time.Now(); ; {
		err := s.settled(ctx, c)
		if errors.Is(err, errUnsettled) {
			err = outlast(ctx, func() error { return s.settle(ctx, c) })
		}
		waited := time.Since(begun)
		// A migration may take minutes; who makes it is a live node.
		if !busy(err) || waited > s.busyWait && !s.node.company() {
			return err
		}
		if !told && waited > time.Second {
			told = true
			s.log.Warn("waiting for another process, which may be migrating the session store", "path", s.path)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * time.Millisecond):
		}
	}
}

var errUnsettled = errors.New("schema is not current")

// settled returns nil when the schema is current and errUnsettled when settle can make it so.
func (s *Store) settled(ctx context.Context, c *conn) error {
	version, err := c.number(ctx, "PRAGMA user_version")
	if err != nil {
		return err
	}
	owner, err := c.number(ctx, "PRAGMA application_id")
	if err != nil {
		return err
	}
	if version == 0 && owner == 0 {
		tables, err := c.number(ctx, "SELECT count(*) FROM sqlite_schema")
		if err == nil && tables == 0 {
			return errUnsettled
		}
		if err != nil {
			return err
		}
	}
	if owner != application {
		return fmt.Errorf("%w: %s belongs to another program: choose another file", store.ErrCorrupt, s.path)
	}
	if err := s.newer(version); err != nil {
		return err
	}
	if version < int64(len(s.steps)) {
		return errUnsettled
	}
	return nil
}

func (s *Store) newer(version int64) error {
	if version <= int64(len(s.steps)) {
		return nil
	}
	return fmt.Errorf("%w: %s has version %d, tenon %s knows versions up to %d: update tenon",
		store.ErrNewer, s.path, version, s.version, len(s.steps))
}

func (s *Store) settle(ctx context.Context, c *conn) (err error) {
	if err := c.script(ctx, "PRAGMA journal_mode=WAL; BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err == nil {
			return
		}
		if rollback := c.script(ctx, "ROLLBACK"); rollback != nil {
			// After some errors, a full disk among them, SQLite has rolled back by itself.
			s.log.Debug("rollback", "err", rollback)
		}
	}()
	// Another process may have been quicker.
	if err := s.settled(ctx, c); err == nil {
		return c.script(ctx, "COMMIT")
	} else if !errors.Is(err, errUnsettled) {
		return err
	}
	version, err := c.number(ctx, "PRAGMA user_version")
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
	for i := int(version); i < len(s.steps); i++ {
		err := c.script(ctx, s.steps[i].sql)
		if err == nil && s.steps[i].fill != nil {
			err = s.steps[i].fill(ctx, c)
		}
		if err != nil {
			return fmt.Errorf("migrate to version %d: %w", i+1, err)
		}
	}
	end := fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT", application, len(s.steps))
	return c.script(ctx, end)
}

// alone refuses to migrate while another process has a session: that one is of an older version and could not go on. It
// makes this process a node, so that others see that somebody is at work.
func (s *Store) alone(ctx context.Context, c *conn, version int64) error {
	var inUse error
	err := c.query(ctx, "SELECT id, node, pid FROM head WHERE node <> '' ORDER BY id", func(r row) error {
		if inUse == nil {
			inUse = s.free(r.text(0), r.text(1), int(r.int(2)))
		}
		return nil
	})
	if err != nil {
		return err
	}
	if inUse != nil {
		return refuse(fmt.Errorf("%w: %s has version %d, this tenon brings it to version %d, and an older tenon works with it: %w",
			store.ErrOlder, s.path, version, len(s.steps), inUse))
	}
	if err := s.node.hold(); err != nil {
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
	c, err := connect(ctx, s.path)
	if err != nil {
		return err
	}
	_, err = c.exec(ctx, "VACUUM INTO ?", temp)
	if err = errors.Join(err, c.close()); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	if info, err := os.Stat(temp); err == nil && info.Size() > largeFile {
		s.log.Warn("session store is brought to a new version, which may take minutes", "megabytes", info.Size()>>20)
	}
	s.log.Info("session store is migrated", "from", version, "to", len(s.steps), "copy", target)
	return os.Rename(temp, target)
}
