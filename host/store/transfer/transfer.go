// Package transfer exports sessions to files and imports them.
//
// A file has the form of opencode's export: the session and its messages. tenon adds keys that other programs ignore: the task list, large
// tool outputs in full, and the sessions of subagents.
//
//	Export ─► File ─► Redact ─► JSON          a file to publish
//	JSON ─► Read ─► File ─► Adopt ─► Imports  the input of store.Store.Import
//
// Files are untrusted: Read checks what the store relies on, and Adopt removes what must not come from a file.
package transfer

import (
	"context"
	"errors"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// ErrFile is wrapped by errors about a file that cannot be imported.
var ErrFile = errors.New("not an exported session")

// MaxBytes is the maximum size of a file. Reading one takes a few times as much memory.
const MaxBytes = 512 << 20

// maxValues is the maximum number of JSON values in a file, those of about 100,000 parts: an empty object of 3 bytes takes up to 200 in memory.
const maxValues = 1 << 21

// maxDepth is the maximum nesting of the sessions of subagents.
const maxDepth = 16

// File is an exported session.
type File struct {
	Info     *sdk.Session           `json:"info"`
	Messages []sdk.MessageWithParts `json:"messages"`
	Todos    []sdk.Todo             `json:"todos,omitempty"`
	// Outputs holds large tool outputs in full, by the hash that their parts name.
	Outputs  map[string]string `json:"outputs,omitempty"`
	Children []*File           `json:"children,omitempty"` // sessions of subagents
	// Damaged lists the damaged rows of the store that the file omits, including those of children.
	Damaged []store.Damage `json:"damaged,omitempty"`
}

// Export reads a session. If full is set, the file also holds large outputs, the task list and the sessions of subagents. Damaged rows are
// omitted; the file lists them, and a *store.DamageError is returned in addition to the file.
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
	for _, m := range messages {
		for _, p := range m.Parts {
			if file, ok := p.(*sdk.FilePart); ok {
				dropPath(file) // an import would remove it, and opencode refuses a source without a mention
			}
		}
	}
	if !full {
		return f, nil
	}
	f.Todos, err = s.Todos(ctx, info.ID)
	if err = damage.Take(err); err != nil {
		return nil, err
	}
	err = store.EachOutput(ctx, s, messages, damage, func(call *sdk.ToolPart, content []byte, ok bool) {
		if f.Outputs == nil {
			f.Outputs = map[string]string{}
		}
		if ok {
			f.Outputs[store.Output(call)] = string(content)
		}
	})
	if err != nil {
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
