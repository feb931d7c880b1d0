-- Version 4: the indexes that listings read have all columns that a listing shows, and a removal keeps the lock only briefly.

ALTER TABLE session ADD COLUMN brief TEXT NOT NULL DEFAULT '';
DROP INDEX session_parent;
DROP INDEX session_updated;
CREATE INDEX session_parent ON session(parent, updated DESC, id, project, directory, archived, brief);
CREATE INDEX session_updated ON session(updated DESC, id, project, directory, archived, brief);

-- Otherwise each transaction that removes texts tidies up the index for up to half a second. The room of what is removed
-- comes back when the index grows. See https://www.sqlite.org/fts5.html#the_deletemerge_configuration_option
INSERT INTO search(search, rank) VALUES('deletemerge', 0);
