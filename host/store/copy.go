package store

import (
	"context"

	"github.com/tenonhq/tenon/sdk"
)

// CopyOps returns the changes that store messages with their parts and the full outputs of their tool calls, each output once. It removes
// references to outputs that cannot be read, and adds those to damage.
func CopyOps(ctx context.Context, s Store, messages []sdk.MessageWithParts, damage *Damages) ([]Op, error) {
	var ops []Op
	outputs := map[string]bool{}
	addOutput := func(call *sdk.ToolPart) error {
		hash := Output(call)
		if hash == "" || outputs[hash] {
			return nil
		}
		content, err := s.Blob(ctx, hash)
		if err != nil {
			err = OutputDamage(call, err)
			delete(call.State.Metadata, "outputPath") // the preview remains
			return damage.Take(err)
		}
		outputs[hash] = true
		ops = append(ops, PutBlob{Content: content})
		return nil
	}
	for _, m := range messages {
		ops = append(ops, PutMessage{Message: m.Info})
		for _, p := range m.Parts {
			if call, ok := p.(*sdk.ToolPart); ok {
				if err := addOutput(call); err != nil {
					return nil, err
				}
			}
			ops = append(ops, PutPart{Part: p})
		}
	}
	return ops, nil
}
