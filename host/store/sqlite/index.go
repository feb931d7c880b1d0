package sqlite

import (
	"strings"

	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/words"
	"github.com/tenonhq/tenon/sdk"
)

// unindexSpan removes the rows of parts ?1 to ?2 from the index.
const unindexSpan = "DELETE FROM search WHERE rowid IN (SELECT id FROM search_docsize WHERE id BETWEEN ? AND ?)"

// indexed returns the text of a part for the index, which is empty while the part is open. prose reports whether such parts have a text at
// all: only text that the user or the model wrote is indexed.
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

// index replaces the text of a part in the index.
func (x *edit) index(key int64, text string) {
	if strings.TrimSpace(text) == "" {
		x.Exec(unindexSpan, key, key)
		return
	}
	x.Exec("INSERT OR REPLACE INTO search(rowid, text) VALUES(?, ?)", key, words.Of(text))
}

// indexTitle replaces the title of the session in the index if it changed.
func (x *edit) indexTitle(title string) {
	if x.Number("SELECT count(*) FROM session WHERE key = ? AND title = ?", x.session, title) == 0 {
		x.index(titleKey(x.session), title)
	}
}

func titleKey(session int64) int64 { return partsOfSession(session).low }

func sessionOf(part int64) int64 { return part >> (messageBits + partBits) }

// fillSearch indexes the rows of an older version, except damaged ones.
func fillSearch(x *database.Tx) {
	const insert = "INSERT INTO search(rowid, text) VALUES(?1, ?2)"
	fillIn(x, "SELECT key << 40, title FROM session WHERE key << 40 > ? ORDER BY key", insert, func(r database.Row) string {
		return words.Of(strings.TrimSpace(r.Text(1)))
	})
	// Only text, reasoning and tool calls without a result have this field.
	const parts = "SELECT key, CAST(data AS BLOB) FROM part WHERE key > ? AND field = 'text' ORDER BY key"
	fillIn(x, parts, insert, func(r database.Row) string {
		p, err := sdk.DecodePart(r.Bytes(1))
		if err != nil {
			return ""
		}
		text, _ := indexed(p)
		return words.Of(strings.TrimSpace(text))
	})
}
