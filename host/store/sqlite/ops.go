package sqlite

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
	"github.com/tenonhq/tenon/sdk"
)

var errForeign = errors.New("belongs to another session")

// encode returns the change for an op. It does not refer to the caller's values.
func (s *Store) encode(session string, op store.Op) (change, error) {
	switch op := op.(type) {
	case store.PutSession:
		return encodeSession(session, op.Session)
	case store.PutMessage:
		return encodeMessage(session, op.Message)
	case store.PutPart:
		return encodePart(session, op)
	case store.AppendText:
		return func(x *edit) { x.appendText(op) }, nil
	case store.RemoveMessage:
		return func(x *edit) { x.removeMessage(op.MessageID) }, nil
	case store.SetTurn:
		return func(x *edit) { x.Exec("UPDATE head SET turn = ? WHERE key = ?", flag(op.Open), x.session) }, nil
	case store.TakePrompt:
		return func(x *edit) { x.takePrompt(op.PromptID) }, nil
	case store.PutTodos:
		return encodeTodos(op.Todos)
	case store.PutLedger:
		entries := string(op.Entries)
		return func(x *edit) { x.putLedger(op.MessageID, string(op.Purpose), entries) }, nil
	case store.PutBlob:
		return s.encodeBlob(op.Content)
	}
	return nil, fmt.Errorf("unknown op %T", op)
}

// encodeJSON calls MarshalJSON directly, because json.Marshal would escape HTML characters.
func encodeJSON(v any) (string, error) {
	m, ok := v.(json.Marshaler)
	if !ok {
		return "", fmt.Errorf("%T has no JSON", v)
	}
	data, err := m.MarshalJSON()
	if err == nil && !json.Valid(data) {
		err = fmt.Errorf("%T is not JSON", v)
	}
	return unsafe.String(unsafe.SliceData(data), len(data)), err // without a copy: nothing else refers to data
}

func encodeSession(session string, v *sdk.Session) (change, error) {
	if v.ID != session {
		return nil, fmt.Errorf("session %s: %w", v.ID, errForeign)
	}
	args, err := sessionColumns(v)
	if err != nil {
		return nil, err
	}
	return func(x *edit) { x.putSession(args) }, nil
}

// titleColumn is the index of the title in the result of sessionColumns.
const titleColumn = 5

// sessionColumns returns the columns of the session row after key and stamp.
func sessionColumns(v *sdk.Session) ([]any, error) {
	data, err := encodeJSON(v)
	return []any{v.ID, v.ParentID, v.Time.Updated, v.ProjectID, v.Directory, strings.ToLower(v.Title), flag(v.Time.Archived != 0), brief(v), data}, err
}

// flag returns a boolean as a column or parameter.
func flag(on bool) int64 {
	if on {
		return 1
	}
	return 0
}

func (x *edit) putSession(columns []any) {
	stamp := x.stamp()
	x.indexTitle(columns[titleColumn].(string))
	x.Exec("INSERT OR REPLACE INTO session(key, stamp, id, parent, updated, project, directory, title, archived, brief, data)"+
		" VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", append([]any{x.session, stamp}, columns...)...)
}

func encodeMessage(session string, m sdk.Message) (change, error) {
	id := m.Head().ID
	if m.Head().SessionID != session {
		return nil, fmt.Errorf("message %s: %w", id, errForeign)
	}
	data, err := encodeJSON(m)
	if err != nil {
		return nil, fmt.Errorf("message %s: %w", id, err)
	}
	return func(x *edit) { x.putMessage(id, data) }, nil
}

const (
	findMessage = "SELECT key FROM message WHERE id = ? AND key BETWEEN ? AND ?"
	// findMessagePlainly does not use the index, which may be damaged.
	findMessagePlainly = "SELECT key FROM message NOT INDEXED WHERE id = ? AND key BETWEEN ? AND ?"
)

func (x *edit) putMessage(id, data string) {
	in := messagesOf(x.session)
	key, stamp := x.find(findMessage, id, in), x.stamp()
	if key != 0 {
		x.Exec("UPDATE message SET stamp = ?, data = ? WHERE key = ?", stamp, data, key)
		return
	}
	key = x.append(lastMessage, in, "messages in a session")
	x.Exec("INSERT INTO message(key, stamp, id, data) VALUES(?, ?, ?, ?)", key, stamp, id, data)
}

func encodePart(session string, op store.PutPart) (change, error) {
	p := op.Part
	h := *p.Head()
	if h.SessionID != session {
		return nil, fmt.Errorf("part %s: %w", h.ID, errForeign)
	}
	row := partRow{id: h.ID, message: h.MessageID, field: openField(p), streamed: op.Streamed}
	row.text, row.prose = indexed(p)
	if op.Streamed {
		p = withoutText(p)
	}
	var err error
	if row.data, err = encodeJSON(p); err != nil {
		return nil, fmt.Errorf("part %s: %w", h.ID, err)
	}
	return func(x *edit) { x.putPart(&row) }, nil
}

// partRow is a part in the form in which it is stored.
type partRow struct {
	id, message, field, data string
	prose                    bool   // has text for the index; see indexed
	text                     string // the text for the index
	streamed                 bool   // its text is in table delta
}

const findPart = "SELECT key FROM part WHERE id = ? AND key BETWEEN ? AND ?"

func (x *edit) putPart(p *partRow) {
	message := x.find(findMessage, p.message, messagesOf(x.session))
	if message == 0 {
		x.Fail(fmt.Errorf("part %s: message %s: %w", p.id, p.message, store.ErrNotFound))
		return
	}
	key, stamp := x.find(findPart, p.id, partsOfSession(x.session)), x.stamp()
	if key == 0 {
		key = x.append(lastPart, partsOf(message), "parts in a message")
		if p.text != "" {
			x.index(key, p.text)
		}
		x.Exec("INSERT INTO part(key, stamp, id, field, data) VALUES(?, ?, ?, ?, ?)", key, stamp, p.id, p.field, p.data)
		return
	}
	if messageOf(key) != message {
		x.Fail(fmt.Errorf("part %s: moved to message %s", p.id, p.message))
		return
	}
	if !p.streamed {
		x.Exec("DELETE FROM delta WHERE part = ?", key)
	}
	if p.prose {
		x.index(key, p.text)
	}
	x.Exec("UPDATE part SET stamp = ?, field = ?, data = ? WHERE key = ?", stamp, p.field, p.data, key)
}

func (x *edit) appendText(op store.AppendText) {
	var key int64
	var field string
	in := partsOfSession(x.session)
	found := x.First("SELECT key, field FROM part WHERE id = ? AND key BETWEEN ? AND ?", func(r database.Row) {
		key, field = r.Int(0), r.Text(1)
	}, op.PartID, in.low, in.high)
	switch {
	case !found:
		x.Fail(fmt.Errorf("part %s: %w", op.PartID, store.ErrNotFound))
	case field == "" || field != op.Field:
		x.Fail(fmt.Errorf("part %s: no text can be appended to field %q", op.PartID, op.Field))
	default:
		x.Exec("INSERT INTO delta(part, stamp, text) VALUES(?, ?, ?)", key, x.stamp(), op.Text)
	}
}

// dropParts removes parts ?1 to ?2 and the rows that refer to them.
func dropParts() []string {
	return []string{unindexSpan, "DELETE FROM delta WHERE part BETWEEN ?1 AND ?2", "DELETE FROM part WHERE key BETWEEN ?1 AND ?2"}
}

func (x *edit) removeMessage(id string) {
	if key := x.find(findMessage, id, messagesOf(x.session)); key != 0 {
		parts := partsOf(key)
		x.ExecAll(dropParts(), parts.low, parts.high)
		x.Exec("DELETE FROM message WHERE key = ?", key)
		x.noteRemoved(rowMessageRemoved, id)
	}
}

func (x *edit) noteRemoved(kind, id string) {
	x.Exec("INSERT INTO removed(stamp, type, id) VALUES(?, ?, ?)", x.stamp(), kind, id)
}
