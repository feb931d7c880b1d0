// Package transfer turns sessions into files and files into sessions.
//
// A file has the form of opencode's export: the session and its messages. What we add stands in further keys, which others
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
	"strings"

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
}

// outputPrefix and a hash are how a part refers to a large output; see host.
const outputPrefix = "tool-output/"

// Export reads a session. With full the file has large outputs as a whole, the task list and the sessions of subagents.
func Export(ctx context.Context, s store.Store, info *sdk.Session, full bool) (*File, error) {
	return export(ctx, s, info, full, 0)
}

func export(ctx context.Context, s store.Store, info *sdk.Session, full bool, depth int) (*File, error) {
	messages, err := s.Messages(ctx, info.ID, store.Page{})
	if err != nil {
		return nil, err
	}
	f := &File{Info: info, Messages: append([]sdk.MessageWithParts{}, messages...)}
	if !full {
		return f, nil
	}
	if f.Todos, err = s.Todos(ctx, info.ID); err != nil {
		return nil, err
	}
	if err := f.addOutputs(ctx, s); err != nil {
		return nil, err
	}
	children, err := s.Sessions(ctx, store.Query{ParentID: info.ID, Archived: true, Limit: 1 << 20})
	if err != nil || depth == maxDepth {
		return f, err
	}
	for i := range children {
		child, err := export(ctx, s, &children[i], true, depth+1)
		if err != nil {
			return nil, err
		}
		f.Children = append(f.Children, child)
	}
	return f, nil
}

func (f *File) addOutputs(ctx context.Context, s store.Store) error {
	for t := range f.tools() {
		hash := referred(t)
		if hash == "" {
			continue
		}
		content, err := s.Blob(ctx, hash)
		if errors.Is(err, store.ErrNotFound) {
			continue // the part came from elsewhere without it
		}
		if err != nil {
			return err
		}
		if f.Outputs == nil {
			f.Outputs = map[string]string{}
		}
		f.Outputs[hash] = string(content)
	}
	return nil
}

// tools yields the tool calls of the session itself.
func (f *File) tools() func(yield func(*sdk.ToolPart) bool) {
	return func(yield func(*sdk.ToolPart) bool) {
		for _, m := range f.Messages {
			for _, p := range m.Parts {
				if t, ok := p.(*sdk.ToolPart); ok && !yield(t) {
					return
				}
			}
		}
	}
}

// referred returns the hash of the large output of a call, empty when it has none that we stored.
func referred(t *sdk.ToolPart) string {
	path, _ := t.State.Metadata["outputPath"].(string)
	hash, ok := strings.CutPrefix(path, outputPrefix)
	if !ok || len(hash) != hashLength || strings.Trim(hash, "0123456789abcdef") != "" {
		return ""
	}
	return hash
}

// hashLength is that of store.Hash.
const hashLength = 64
