-- Version 2: sessions know whether they are archived, and titles and texts can be searched.
--
-- The index keeps no copy of what it indexes. The row of a part has the part's key, the row of a title the lowest key
-- of its session's parts, which no part uses (key.go); so a row of the index names its session, and sessions
-- are in the order of their creation.

ALTER TABLE session ADD COLUMN archived INTEGER NOT NULL DEFAULT 0;
UPDATE session SET archived = 1 WHERE CASE WHEN json_valid(data) THEN json_extract(data, '$.time.archived') > 0 END;
DROP INDEX session_parent;
DROP INDEX session_updated;
CREATE INDEX session_parent ON session(parent, updated DESC, id, project, directory, archived);
CREATE INDEX session_updated ON session(updated DESC, id, project, directory, archived);

CREATE VIRTUAL TABLE search USING fts5(text, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 2');
