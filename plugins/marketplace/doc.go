// Package marketplace reads catalogues of plugins, marketplace.json of Claude Code, Codex and Cursor, and keeps the user's list of them. A
// catalogue names plugins, the references to fetch them from, and sometimes their manifest. Only Update updates a catalogue.
package marketplace
