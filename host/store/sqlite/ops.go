package sqlite

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

var errForeign = errors.New("belongs to another session")

// encode turns an op into a change that no longer refers to the caller's values.
func (s *Store) encode(session string, op store.Op) (change, error) {
	switch op := op.(type) {
	case store.PutSession:
		return encodeSession(session, op.Session)
	case store.PutMessage:
		return encodeMessage(session, op.Message)
	case store.PutPart:
		return encodePart(session, op)
	case store.AppendText:
		return func(x *tx) error { return x.appendText(op) }, nil
	case store.RemoveMessage:
		return func(x *tx) error { return x.removeMessage(op.MessageID) }, nil
	case store.RemovePart:
		return func(x *tx) error { return x.removePart(op.PartID) }, nil
	case store.SetTurn:
		return func(x *tx) error { return x.setTurn(op.Open) }, nil
	case store.TakePrompt:
		return func(x *tx) error { return x.takePrompt(op.PromptID) }, nil
	case store.PutTodos:
		return encodeTodos(op.Todos)
	case store.PutLedger:
		entries := string(op.Entries)
		return func(x *tx) error { return x.putLedger(op.MessageID, string(op.Purpose), entries) }, nil
	case store.PutBlob:
		return s.encodeBlob(op.Content)
	}
	return nil, fmt.Errorf("unknown op %T", op)
}

// encodeJSON uses the value's own encoder, because json.Marshal would escape HTML in what it returns.
func encodeJSON(v any) (string, error) {
	m, ok := v.(json.Marshaler)
	if !ok {
		return "", fmt.Errorf("%T has no JSON", v)
	}
	data, err := m.MarshalJSON()
	if err == nil && !json.Valid(data) {
		err = fmt.Errorf("%T is not JSON", v)
	}
	return unsafe.String(unsafe.SliceData(data), len(data)), err // not copied: data is ours, and not changed any more
}

func encodeSession(session string, v *sdk.Session) (change, error) {
	if v.ID != session {
		return nil, fmt.Errorf("session %s: %w", v.ID, errForeign)
	}
	args, err := sessionColumns(v)
	if err != nil {
		return nil, err
	}
	return func(x *tx) error { return x.putSession(args) }, nil
}

// titleColumn is where sessionColumns puts the title.
const titleColumn = 5

// sessionColumns returns the columns of the session row behind key and stamp.
func sessionColumns(v *sdk.Session) ([]any, error) {
	data, err := encodeJSON(v)
	archived := int64(0)
	if v.Time.Archived != 0 {
		archived = 1
	}
	return []any{v.ID, v.ParentID, v.Time.Updated, v.ProjectID, v.Directory, strings.ToLower(v.Title), archived, brief(v), data}, err
}

func (x *tx) putSession(columns []any) error {
	stamp, err := x.stamp()
	if err != nil {
		return err
	}
	if err := x.indexTitle(columns[titleColumn].(string)); err != nil {
		return err
	}
	return x.exec("INSERT OR REPLACE INTO session(key, stamp, id, parent, updated, project, directory, title, archived, brief, data)"+
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
	return func(x *tx) error { return x.putMessage(id, data) }, nil
}

const (
	findMessage = "SELECT key FROM message WHERE id = ? AND key BETWEEN ? AND ?"
	// findMessagePlainly does without the index.
	findMessagePlainly = "SELECT key FROM message NOT INDEXED WHERE id = ? AND key BETWEEN ? AND ?"
)

func (x *tx) putMessage(id, data string) error {
	in := messagesOf(x.session)
	key, err := x.find(findMessage, id, in)
	if err != nil {
		return err
	}
	stamp, err := x.stamp()
	if err != nil {
		return err
	}
	if key != 0 {
		return x.exec("UPDATE message SET stamp = ?, data = ? WHERE key = ?", stamp, data, key)
	}
	last, err := x.last("SELECT key FROM message WHERE key BETWEEN ? AND ? ORDER BY key DESC LIMIT 1", in)
	if err != nil {
		return err
	}
	if key, err = in.after(last, "messages in a session"); err != nil {
		return err
	}
	return x.exec("INSERT INTO message(key, stamp, id, data) VALUES(?, ?, ?, ?)", key, stamp, id, data)
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
	return func(x *tx) error { return x.putPart(&row) }, nil
}

// partRow is a part as it is stored.
type partRow struct {
	id, message, field, data string
	prose                    bool   // its text can be found; see indexed
	text                     string // what can be found of it now
	streamed                 bool   // its text is in table delta
}

const findPart = "SELECT key FROM part WHERE id = ? AND key BETWEEN ? AND ?"

func (x *tx) putPart(p *partRow) error {
	message, err := x.find(findMessage, p.message, messagesOf(x.session))
	if err != nil {
		return err
	}
	if message == 0 {
		return fmt.Errorf("part %s: message %s: %w", p.id, p.message, store.ErrNotFound)
	}
	key, err := x.find(findPart, p.id, partsOfSession(x.session))
	if err != nil {
		return err
	}
	stamp, err := x.stamp()
	if err != nil {
		return err
	}
	if key == 0 {
		return x.addPart(message, stamp, p)
	}
	if messageOf(key) != message {
		return fmt.Errorf("part %s: moved to message %s", p.id, p.message)
	}
	if !p.streamed {
		if err := x.exec("DELETE FROM delta WHERE part = ?", key); err != nil {
			return err
		}
	}
	if p.prose {
		if err := x.index(key, p.text); err != nil {
			return err
		}
	}
	return x.exec("UPDATE part SET stamp = ?, field = ?, data = ? WHERE key = ?", stamp, p.field, p.data, key)
}

func (x *tx) addPart(message, stamp int64, p *partRow) error {
	in := partsOf(message)
	last, err := x.last("SELECT key FROM part WHERE key BETWEEN ? AND ? ORDER BY key DESC LIMIT 1", in)
	if err != nil {
		return err
	}
	key, err := in.after(last, "parts in a message")
	if err != nil {
		return err
	}
	if p.text != "" {
		if err := x.index(key, p.text); err != nil {
			return err
		}
	}
	return x.exec("INSERT INTO part(key, stamp, id, field, data) VALUES(?, ?, ?, ?, ?)", key, stamp, p.id, p.field, p.data)
}

func (x *tx) appendText(op store.AppendText) error {
	var key int64
	var field string
	in := partsOfSession(x.session)
	found, err := x.c.first(x.ctx, "SELECT key, field FROM part WHERE id = ? AND key BETWEEN ? AND ?", func(r row) {
		key, field = r.int(0), r.text(1)
	}, op.PartID, in.low, in.high)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("part %s: %w", op.PartID, store.ErrNotFound)
	}
	if field == "" || field != op.Field {
		return fmt.Errorf("part %s: no text can be appended to field %q", op.PartID, op.Field)
	}
	stamp, err := x.stamp()
	if err != nil {
		return err
	}
	return x.exec("INSERT INTO delta(part, stamp, text) VALUES(?, ?, ?)", key, stamp, op.Text)
}

func (x *tx) removeMessage(id string) error {
	key, err := x.find(findMessage, id, messagesOf(x.session))
	if err != nil || key == 0 {
		return err
	}
	parts := partsOf(key)
	return errors.Join(
		x.exec(unindexSpan, parts.low, parts.high),
		x.exec("DELETE FROM delta WHERE part BETWEEN ? AND ?", parts.low, parts.high),
		x.exec("DELETE FROM part WHERE key BETWEEN ? AND ?", parts.low, parts.high),
		x.exec("DELETE FROM message WHERE key = ?", key),
		x.noteRemoved(rowMessageRemoved, id),
	)
}

func (x *tx) removePart(id string) error {
	key, err := x.find(findPart, id, partsOfSession(x.session))
	if err != nil || key == 0 {
		return err
	}
	return errors.Join(
		x.exec(unindexSpan, key, key),
		x.exec("DELETE FROM delta WHERE part = ?", key),
		x.exec("DELETE FROM part WHERE key = ?", key),
		x.noteRemoved(rowPartRemoved, id),
	)
}

func (x *tx) noteRemoved(kind, id string) error {
	stamp, err := x.stamp()
	if err != nil {
		return err
	}
	return x.exec("INSERT INTO removed(stamp, type, id) VALUES(?, ?, ?)", stamp, kind, id)
}

func (x *tx) setTurn(open bool) error {
	turn := int64(0)
	if open {
		turn = 1
	}
	return x.exec("UPDATE head SET turn = ? WHERE key = ?", turn, x.session)
}
