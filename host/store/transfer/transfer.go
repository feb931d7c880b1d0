// Package transfer turns sessions into files and files into sessions.
//
// A file has the form of opencode's export: the session and its messages. Our additions are further keys, which others
// ignore: the task list, the whole of large tool outputs, the sessions of subagents.
//
//	Export ─► File ─► Redact ─► JSON          a file to show to others
//	JSON ─► Read ─► File ─► Adopt ─► Imports  what store.Store.Import takes
//
// A file is text from outside: Read checks what the store relies on, and Adopt takes out what must not come from outside.
package transfer

import (
	"context"
	"errors"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// ErrFile means that a file cannot be imported.
var ErrFile = errors.New("not an exported session")

// MaxBytes bounds the size of a file that is read; reading takes a few times as much memory.
const MaxBytes = 512 << 20

// maxDepth bounds how deep the sessions of subagents nest.
const maxDepth = 16

// File is an exported session.
type File struct {
	Info     *sdk.Session           `json:"info"`
	Messages []sdk.MessageWithParts `json:"messages"`
	Todos    []sdk.Todo             `json:"todos,omitempty"`
	// Outputs are the whole of large tool outputs, by the hash their parts name.
	Outputs  map[string]string `json:"outputs,omitempty"`
	Children []*File           `json:"children,omitempty"` // sessions of subagents
	// Damaged names what was damaged in the store and is left out, children included.
	Damaged []store.Damage `json:"damaged,omitempty"`
}

// Export reads a session. With full the file has large outputs as a whole, the task list and the sessions of subagents. Damaged
// rows are left out: the file names them, and so does a *store.DamageError beside it.
func Export(ctx context.Context, s store.Store, info *sdk.Session, full bool) (*File, error) {
	var damage store.Damages
	f, err := export(ctx, s, info, full, 0, &damage)
	if err != nil {
		return nil, err
	}
	err = damage.Err()
	f.Damaged, _ = store.Readable(err)
	return f, err
}

func export(ctx context.Context, s store.Store, info *sdk.Session, full bool, depth int, damage *store.Damages) (*File, error) {
	messages, err := s.Messages(ctx, info.ID, store.Page{})
	if err = damage.Take(err); err != nil {
		return nil, err
	}
	f := &File{Info: info, Messages: append([]sdk.MessageWithParts{}, messages...)}
	if !full {
		return f, nil
	}
	f.Todos, err = s.Todos(ctx, info.ID)
	if err = damage.Take(err); err != nil {
		return nil, err
	}
	if err := f.addOutputs(ctx, s, damage); err != nil {
		return nil, err
	}
	children, err := s.Sessions(ctx, store.Query{ParentID: info.ID, Archived: true, Limit: 1 << 20})
	if err = damage.Take(err); err != nil || depth == maxDepth {
		return f, err
	}
	for i := range children {
		child, err := export(ctx, s, &children[i], true, depth+1, damage)
		if err != nil {
			return nil, err
		}
		f.Children = append(f.Children, child)
	}
	return f, nil
}

func (f *File) addOutputs(ctx context.Context, s store.Store, damage *store.Damages) error {
	for t := range store.PartsOf[*sdk.ToolPart](f.Messages...) {
		hash := store.Output(t)
		if _, known := f.Outputs[hash]; known || hash == "" {
			continue
		}
		content, err := s.Blob(ctx, hash)
		if err != nil {
			if err := damage.Take(store.OutputDamage(t, err)); err != nil {
				return err
			}
			continue
		}
		if f.Outputs == nil {
			f.Outputs = map[string]string{}
		}
		f.Outputs[hash] = string(content)
	}
	return nil
}
