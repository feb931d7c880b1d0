-- Version 1. There are no foreign keys: rows belong to a session by the range of their keys.

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
