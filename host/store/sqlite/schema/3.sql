-- Version 3: what the user always allows.

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
