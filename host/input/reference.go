package input

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/generation"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// referenceTimeout bounds the time of plugins for all mentions of a prompt, and for the prompt of a command.
	referenceTimeout = 10 * time.Second
	// maxReferences bounds the names of one prompt that plugins are asked about: pasted code is full of them.
	maxReferences = 32
)

// references resolves mentions in one prompt that are neither files nor agents.
type references struct {
	asked   int
	expires time.Time // set with the first
}

// find asks the plugins, in order, for the meaning of a name. A failing plugin is reported, and the text stays unchanged.
func (r *references) find(ctx context.Context, set *generation.Set, name string) sdk.Parts {
	if r.asked == maxReferences {
		return nil
	}
	if r.asked++; r.asked == 1 {
		r.expires = time.Now().Add(referenceTimeout)
	}
	for _, p := range set.Plugins {
		source, ok := p.Value.(sdk.ReferenceSource)
		if !ok {
			continue
		}
		parts, err := r.ask(ctx, p, source, name)
		if err != nil && ctx.Err() == nil {
			p.Notify(fmt.Sprintf("@%s stays unchanged: %v", name, err))
		}
		if len(parts) > 0 {
			return parts
		}
	}
	return nil
}

// ask asks one plugin, for at most the remaining time. It returns nil if the plugin does not know the name.
func (r *references) ask(ctx context.Context, p *generation.Plugin, source sdk.ReferenceSource, name string) (sdk.Parts, error) {
	left := time.Until(r.expires)
	if left <= 0 {
		return nil, fmt.Errorf("%w: the references of the prompt took more than %s", hooks.ErrNoAnswer, referenceTimeout)
	}
	parts, err := generation.CallUnlessHung(ctx, p, "references", left, func(ctx context.Context) (sdk.Parts, error) {
		parts, found, err := source.Reference(ctx, name)
		if !found {
			parts = nil
		}
		return parts, err
	})
	if err != nil {
		return nil, err
	}
	if parts, err = generation.ForeignParts(parts); err != nil {
		return nil, err
	}
	for _, part := range parts {
		if text, ok := part.(*sdk.TextPart); ok {
			text.Synthetic = true // the user did not write it
		}
	}
	return parts, nil
}

// referenceName returns the name in text[start:end], after an @, for plugins. A URI may contain characters that end other mentions.
// Punctuation and closing brackets after the name are not part of it.
func referenceName(text string, start, end int) string {
	name := text[start:end]
	if strings.Contains(name, "://") {
		name = text[start:]
		if i := strings.IndexAny(name, " \t\r\n`\"<>"); i >= 0 {
			name = name[:i]
		}
	}
	return strings.TrimRight(name, ".,:;!?')]}")
}

// IsReference reports whether plugins are asked about the whole name after the @ of a mention: not about its beginning.
func IsReference(mention string) bool {
	start, end := nextMention(mention, 0)
	return start == 1 && referenceName(mention, start, end) == mention[1:]
}
