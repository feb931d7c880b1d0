package plugins

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/plugins/trust"
	"github.com/tenonhq/tenon/sdk"
)

// requestOf returns the request of an item's package. It warns about the parts of its command hooks that have no effect.
func (l *Loader) requestOf(i *Item, p *manifest.Package) trust.Request {
	r := trust.Request{Undescribed: p.Undescribed}
	if rt := p.Description.Runtime; rt != nil {
		r.Carrier = sdk.Carrier(rt.Type)
		r.Command = rt.Command
		r.MemoryMB = rt.MemoryMB
	}
	addContributions(&r, &p.Description)
	for _, s := range p.Skills {
		r.Skills = append(r.Skills, s.Name)
	}
	for _, name := range sortedKeys(p.Servers) {
		r.Servers = append(r.Servers, name+": "+serverLine(p.Servers[name]))
	}
	if p.HookFile == "" {
		return r
	}
	file := strings.TrimPrefix(p.HookFile, p.Root+string(filepath.Separator))
	lines, warnings, err := l.opts.Hooks(file, p.Root, []byte(p.Hooks))
	for _, w := range warnings {
		i.Warnings = append(i.Warnings, file+": "+w)
	}
	if err != nil { // the file is not loaded
		i.Warnings = append(i.Warnings, err.Error())
	}
	r.CommandHooks = lines
	return r
}

// addContributions adds the capabilities and contributions of a description.
func addContributions(r *trust.Request, d *sdk.Description) {
	r.Capabilities = d.Capabilities
	for i := range d.Hooks {
		r.Hooks = append(r.Hooks, HookRequest(&d.Hooks[i]))
	}
	for _, t := range d.Tools {
		r.Tools = append(r.Tools, t.ID)
		switch { // these texts are part of tenon.lock: a changed text would need a new approval
		case t.Prepares:
			r.Leave = append(r.Leave, t.ID+": names the permissions that each call needs, which may be none")
		case t.Permission != "" && t.Permission != t.ID:
			r.Leave = append(r.Leave, t.ID+": allowed or asked for by the rules of "+t.Permission)
		}
	}
	for _, p := range d.Providers {
		r.Providers = append(r.Providers, providerLine(&p))
	}
	r.Protocols = append(r.Protocols, d.Protocols...)
	for _, a := range d.Agents {
		r.Agents = append(r.Agents, a.Name)
	}
	for _, c := range d.Commands {
		r.Commands = append(r.Commands, c.Name)
	}
}

// providerLine returns the ID of a provider, its addresses and the variables that it takes from the user's environment.
func providerLine(p *sdk.ProviderInfo) string {
	var addresses []string
	for _, m := range p.Models {
		addresses = append(addresses, m.BaseURL)
	}
	addresses = append(addresses, p.BaseURL)
	slices.Sort(addresses)
	addresses = slices.DeleteFunc(slices.Compact(addresses), func(address string) bool { return address == "" })
	variables := slices.Clone(p.Env)
	for _, option := range sortedKeys(p.OptionEnv) {
		variables = append(variables, p.OptionEnv[option]...)
	}
	line := p.ID
	if len(addresses) > 0 {
		line += ": at " + strings.Join(addresses, ", ")
	}
	if len(variables) > 0 {
		line += ": uses " + strings.Join(variables, ", ")
	}
	return line
}

// HookRequest returns the request of a hook at a known point.
func HookRequest(h *sdk.HookDescription) trust.Hook {
	info, _ := hookpoint.Of(h.Point)
	hook := trust.Hook{HookDescription: *h}
	hook.Point = string(info.Point)
	if h.Name == "" || h.Name == h.Point {
		hook.Name = hook.Point
	}
	if info.NewValue == nil {
		hook.Reads, hook.Writes = nil, nil // the point has no value
	}
	hook.Right = trust.RightOf(info.Point, hook.Writes)
	return hook
}

func serverLine(s manifest.Server) string {
	if s.Type != manifest.ServerStdio {
		line := s.Type + " " + s.URL
		if len(s.Variables) > 0 {
			line += ": sends " + strings.Join(s.Variables, ", ")
		}
		return line
	}
	words := append([]string{s.Command}, s.Args...)
	for _, name := range sortedKeys(s.Env) {
		words = append(words, name+"="+s.Env[name])
	}
	line := "starts " + strings.Join(words, " ")
	if s.Cwd != "" {
		line += " in " + s.Cwd
	}
	return line
}

// Describe asks a pending module for its contributions, so that the user sees them before approval. The module runs without grants,
// from a sealed copy. A program starts only after its content is approved; it is asked then, and the user is asked again.
func (l *Loader) Describe(ctx context.Context, i *Item) error {
	if i.State != StatePending || !i.Request.Undescribed || !manifest.CarrierOf(i.Carrier).Inert {
		return nil
	}
	var err error
	if i.sealed, err = l.vault.Seal(ctx, i.source, i.Digest); err != nil {
		return err
	}
	warnings := i.Warnings
	if err := l.read(i, i.sealed.Root); err != nil {
		return err
	}
	i.Warnings = warnings // drops warnings that read has repeated
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
	slow := time.AfterFunc(time.Second, func() { l.log.Warn("still waiting for a plugin to start and list its contributions", "plugin", i.Name) })
	said, err := l.opts.Openers[i.Carrier].Describe(ctx, u)
	slow.Stop()
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

// cachedDescription uses the description from an earlier run of the item. Without a valid description, the item is asked again.
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
		more := slices.DeleteFunc(d.Capabilities, func(c sdk.Capability) bool {
			return slices.ContainsFunc(own.Capabilities, func(o sdk.Capability) bool { return o.Name == c.Name })
		})
		d.Capabilities = slices.Concat(own.Capabilities, more)
		if len(own.Options) > 0 {
			d.Options = own.Options
		}
	}
	i.Name, i.Manifest = d.Name, d
	i.Request.Undescribed = false
	addContributions(&i.Request, &d)
	return nil
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
