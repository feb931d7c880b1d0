package plugins

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/sdk"
)

// Describe asks a pending module for its contributions, so that the user sees them before approval. The module runs without grants,
// from a sealed copy. A program starts only after its content is approved; it is asked then, and so is the user again.
func (l *Loader) Describe(ctx context.Context, i *Item) error {
	if i.State != StatePending || !i.Request.Undescribed || !manifest.CarrierOf(i.Carrier).Inert {
		return nil
	}
	var err error
	if i.sealed, err = l.vault.Seal(ctx, i.source, i.Digest); err != nil {
		return err
	}
	warnings := i.Warnings
	if err := l.read(ctx, i, i.sealed.Root); err != nil {
		return err
	}
	i.Warnings = warnings // without those that read found again
	if err := l.describe(ctx, i); err != nil {
		return err
	}
	entries, err := l.store.Read()
	if err != nil {
		return err
	}
	l.decide(i, entries)
	return nil
}

// describe asks an item for its contributions, unless they are cached.
func (l *Loader) describe(ctx context.Context, i *Item) error {
	if !i.Request.Undescribed {
		return nil
	}
	u, err := l.unit(i)
	if err != nil {
		return err
	}
	u.Description = sdk.Description{Name: i.Name, Runtime: i.Manifest.Runtime}
	u.Grants, u.Env = nil, nil
	said, err := l.opts.Openers[i.Carrier].Describe(ctx, u)
	if err != nil {
		return fmt.Errorf("%s: list its contributions: %w", i.Path, err)
	}
	data, err := json.Marshal(said)
	if err != nil {
		return err
	}
	if err := l.described(i, data); err != nil {
		return err
	}
	if err := i.sealed.Keep(keptDescription, data); err != nil {
		l.log.Debug("description is not remembered", "plugin", i.Name, "err", err)
	}
	return nil
}

// keptDescription is the name of an item's description next to its sealed copy.
const keptDescription = "description"

// cachedDescription uses the description from an earlier run of the item. Without a valid one the item is asked again.
func (l *Loader) cachedDescription(i *Item) {
	if i.sealed == nil {
		return
	}
	data, err := i.sealed.Kept(keptDescription)
	if err == nil {
		err = l.described(i, data)
	}
	if err != nil {
		l.log.Debug("no description of an earlier run", "plugin", i.Name, "err", err)
	}
}

// described checks the description an item returned and applies it.
func (l *Loader) described(i *Item, data []byte) error {
	d, err := manifest.Describe(data)
	if err == nil {
		err = manifest.CheckCarrier(&d, i.Carrier)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", i.Path, err)
	}
	if i.pkg != nil {
		own := &i.pkg.Description
		if d.Name != own.Name {
			return fmt.Errorf("%w: %s calls itself %q, its %s calls it %q; make them agree", sdk.ErrManifest, i.Path, d.Name, manifest.File, own.Name)
		}
		d.Runtime, d.Version, d.Summary = own.Runtime, own.Version, own.Summary
		d.Capabilities = append(slices.Clone(own.Capabilities), missing(own.Capabilities, d.Capabilities)...)
		if len(own.Options) > 0 {
			d.Options = own.Options
		}
	}
	i.Name, i.Manifest = d.Name, d
	i.Request.Undescribed = false
	addContributions(&i.Request, &d)
	return nil
}

// missing returns the capabilities in more that are not in have.
func missing(have, more []sdk.Capability) []sdk.Capability {
	return slices.DeleteFunc(slices.Clone(more), func(c sdk.Capability) bool {
		return slices.ContainsFunc(have, func(h sdk.Capability) bool { return h.Name == c.Name })
	})
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
