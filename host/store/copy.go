package store

import (
	"context"
	"iter"
	"slices"

	"github.com/tenonhq/tenon/sdk"
)

// CopyOps returns the changes that store messages with their parts and the full outputs of their tool calls, each output once. It removes
// references to outputs that cannot be read, and adds those to damage.
func CopyOps(ctx context.Context, s Store, messages []sdk.MessageWithParts, damage *Damages) ([]Op, error) {
	var ops []Op
	err := EachOutput(ctx, s, messages, damage, func(call *sdk.ToolPart, content []byte, ok bool) {
		if !ok {
			delete(call.State.Metadata, "outputPath") // the preview remains
			return
		}
		ops = append(ops, PutBlob{Content: content})
	})
	return append(ops, MessageOps(messages)...), err
}

// EachOutput calls f once for each full output of the tool calls in messages, with a call that refers to it. If the output cannot be read, ok
// is false and damage includes it.
func EachOutput(ctx context.Context, s Store, messages []sdk.MessageWithParts, damage *Damages, f func(call *sdk.ToolPart, content []byte, ok bool)) error {
	known := map[string]bool{}
	for call := range PartsOf[*sdk.ToolPart](messages...) {
		hash := Output(call)
		if hash == "" || known[hash] {
			continue
		}
		content, err := s.Blob(ctx, hash)
		if err != nil {
			if err := damage.Take(OutputDamage(call, err)); err != nil {
				return err
			}
		}
		known[hash] = err == nil
		f(call, content, err == nil)
	}
	return nil
}

// MessageOps returns the changes that store messages with their parts.
func MessageOps(messages []sdk.MessageWithParts) (ops []Op) {
	for _, m := range messages {
		ops = append(ops, PutMessage{Message: m.Info})
		for _, p := range m.Parts {
			ops = append(ops, PutPart{Part: p})
		}
	}
	return ops
}

// PartsOf yields the parts of one type in messages, in order.
func PartsOf[P sdk.Part](messages ...sdk.MessageWithParts) iter.Seq[P] {
	return func(yield func(P) bool) {
		for _, m := range messages {
			for _, part := range m.Parts {
				if p, ok := part.(P); ok && !yield(p) {
					return
				}
			}
		}
	}
}

// MaxSubagents bounds the sessions of subagents below one session.
const MaxSubagents = 10_000

// SubagentPatches returns the patches of a session's subagents. Damaged rows are left out, with a *DamageError in addition.
func SubagentPatches(ctx context.Context, s Store, session string) ([]*sdk.PatchPart, error) {
	var damage Damages
	children, err := s.Sessions(ctx, Query{ParentID: session, Archived: true, Limit: MaxSubagents})
	if err = damage.Take(err); err != nil {
		return nil, err
	}
	var out []*sdk.PatchPart
	for _, child := range children {
		list, err := s.Messages(ctx, child.ID, Page{})
		if err = damage.Take(err); err != nil {
			return nil, err
		}
		deeper, err := SubagentPatches(ctx, s, child.ID)
		if err = damage.Take(err); err != nil {
			return nil, err
		}
		out = append(slices.AppendSeq(out, PartsOf[*sdk.PatchPart](list...)), deeper...)
	}
	return out, damage.Err()
}
