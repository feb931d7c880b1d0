package sqlite

import (
	"context"
	"errors"
	"strings"
	"unicode"

	"github.com/tenonhq/tenon/sdk"
)

// searchTables makes version 2: sessions know whether they are archived, and titles and texts can be searched.
//
// The index keeps no copy of what it indexes. The row of a part has the part's key, the row of a title the lowest key
// of its session's parts, which no part uses (key.go); so what is found says which session it is in, and the sessions
// stand in the order they were created in.
const searchTables = `
ALTER TABLE session ADD COLUMN archived INTEGER NOT NULL DEFAULT 0;
UPDATE session SET archived = 1 WHERE CASE WHEN json_valid(data) THEN json_extract(data, '$.time.archived') > 0 END;
DROP INDEX session_parent;
DROP INDEX session_updated;
CREATE INDEX session_parent ON session(parent, updated DESC, id, project, directory, archived);
CREATE INDEX session_updated ON session(updated DESC, id, project, directory, archived);

CREATE VIRTUAL TABLE search USING fts5(text, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 2');
`

// unindexSpan removes the rows of parts ?1 to ?2 from the index.
const unindexSpan = "DELETE FROM search WHERE rowid IN (SELECT id FROM search_docsize WHERE id BETWEEN ? AND ?)"

// indexed returns what can be found of a part, empty while it is open, and whether there ever is anything: only of what
// the user and the model wrote, not of what the host put in.
func indexed(p sdk.Part) (text string, prose bool) {
	t, ok := p.(*sdk.TextPart)
	if !ok {
		return "", false
	}
	if t.Synthetic || t.Ignored || t.Time != nil && t.Time.End == 0 {
		return "", true
	}
	return t.Text, true
}

// maxIndexed bounds the text of one part that can be found, in bytes from its beginning. SQLite keeps the index of a text in memory, at up
// to five times the size of the text, until the text has been read.
const maxIndexed = 512 << 10

// searchWords returns the words of a text as the index stores them.
func searchWords(text string) string {
	if len(text) > maxIndexed {
		text = strings.ToValidUTF8(text[:maxIndexed], "")
	}
	return apart(text)
}

// index puts the text of a part into the index in place of an earlier one.
func (x *tx) index(key int64, text string) error {
	if strings.TrimSpace(text) == "" {
		return x.exec(unindexSpan, key, key)
	}
	return x.exec("INSERT OR REPLACE INTO search(rowid, text) VALUES(?, ?)", key, searchWords(text))
}

// indexTitle does so for the title of the session, which rarely changes while the session often does.
func (x *tx) indexTitle(title string) error {
	same, err := x.c.number(x.ctx, "SELECT count(*) FROM session WHERE key = ? AND title = ?", x.session, title)
	if err != nil || same > 0 {
		return err
	}
	return x.index(titleKey(x.session), title)
}

func titleKey(session int64) int64 { return partsOfSession(session).low }

func sessionOf(part int64) int64 { return part >> (messageBits + partBits) }

// fillSearch indexes what an older version stored.
func fillSearch(ctx context.Context, c *conn) error {
	type doc struct {
		key  int64
		text string
	}
	// Some at a time: a statement must not see what it changes.
	fill := func(query string, low int64, text func(row) (string, error)) error {
		for {
			var docs []doc
			err := c.query(ctx, query, func(r row) error {
				low = r.int(0)
				t, err := text(r)
				if strings.TrimSpace(t) != "" {
					docs = append(docs, doc{r.int(0), t})
				}
				return err
			}, low)
			if err != nil {
				return err
			}
			for _, d := range docs {
				if _, err := c.exec(ctx, "INSERT INTO search(rowid, text) VALUES(?, ?)", d.key, searchWords(d.text)); err != nil {
					return err
				}
			}
			done, err := c.number(ctx, "SELECT NOT EXISTS ("+query+")", low)
			if err != nil || done == 1 {
				return err
			}
		}
	}
	const titles = "SELECT key << 40, title FROM session WHERE key << 40 > ? ORDER BY key LIMIT 1000"
	// Only text and reasoning have this field, and tool calls without a result.
	const parts = "SELECT key, CAST(data AS BLOB) FROM part WHERE key > ? AND field = 'text' ORDER BY key LIMIT 1000"
	return errors.Join(
		fill(titles, 0, func(r row) (string, error) { return r.text(1), nil }),
		fill(parts, 0, func(r row) (string, error) {
			p, err := sdk.DecodePart(r.bytes(1))
			if err != nil {
				return "", nil // opening is not the time to look for damage
			}
			text, _ := indexed(p)
			return text, nil
		}),
	)
}

// apart puts spaces around the characters of scripts that write words without any between them. Each is a word then,
// and several in a row are found like words in a row.
func apart(text string) string {
	if strings.IndexFunc(text, unspaced) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if unspaced(r) {
			b.WriteByte(' ')
			b.WriteRune(r)
			b.WriteByte(' ')
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func unspaced(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer)
}
