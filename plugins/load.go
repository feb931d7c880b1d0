package plugins

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/plugins/source"
	"github.com/tenonhq/tenon/plugins/trust"
	"github.com/tenonhq/tenon/sdk"
)

// Load finds and loads the plugins. The error of one plugin is in its Item and does not affect the others. The returned error is one of
// tenon.lock, of a lock file, or of ctx: without them nothing may run.
func (l *Loader) Load(ctx context.Context) (*Loaded, error) {
	installed, err := l.readInstalled()
	if err != nil {
		return nil, err
	}
	out := l.discover(installed)
	if len(out.Items) == 0 && len(l.opts.Entries) == 0 {
		return out, nil
	}
	approved, err := l.store.Read()
	if err != nil {
		return nil, err
	}
	l.inspectAll(ctx, out.Items, approved)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	items := l.named(out.Items)
	slices.SortStableFunc(items, func(a, b *Item) int { return cmp.Compare(a.order, b.order) })
	items = l.oneOfEach(items)
	for _, i := range items {
		switch i.State {
		case StateReady:
			l.open(i, out)
		case StateQuarantined:
			i.Plugin = l.stub(i)
			if i.Decision.Approved { // only its runtime failed
				l.contribute(i, out)
			}
		}
	}
	out.Items = items
	if slices.ContainsFunc(items, (*Item).watched) { // each build has left a sealed copy
		if err := l.collect(); err != nil {
			l.log.Debug("old copies not deleted", "err", err)
		}
	}
	l.Save()
	return out, nil
}

// Save caches the digests of plugins for the next start, which takes longer if they cannot be written.
func (l *Loader) Save() {
	if err := l.vault.Save(); err != nil {
		l.log.Debug("digests not cached", "err", err)
	}
}

// inspectAll inspects the usable items. It runs as many goroutines as there are processors, since each new one has to grow its stack.
func (l *Loader) inspectAll(ctx context.Context, items []*Item, approved trust.Entries) {
	var next atomic.Int64
	var group sync.WaitGroup // waited for here
	for range min(len(items), runtime.GOMAXPROCS(0)) {
		group.Go(func() {
			for n := next.Add(1); n <= int64(len(items)); n = next.Add(1) {
				if i := items[n-1]; i.usable() {
					l.inspect(ctx, i, approved)
				}
			}
		})
	}
	group.Wait()
}

// inspect reads an item and looks up its approval.
func (l *Loader) inspect(ctx context.Context, i *Item, approved trust.Entries) {
	from, err := l.locate(ctx, i, approved)
	if err == nil {
		err = l.read(i, from)
	}
	if err != nil {
		i.reject(err)
		return
	}
	l.decide(i, approved)
	if i.State != StateReady || !i.Request.Undescribed {
		return
	}
	if err := l.describe(ctx, i); err != nil {
		i.reject(err)
		return
	}
	l.decide(i, approved)
}

// locate returns the place from which an item is read: its sealed copy or, until it is approved, its own path.
func (l *Loader) locate(ctx context.Context, i *Item, approved trust.Entries) (from string, err error) {
	if i.installed != nil {
		if err := l.openInstalled(ctx, i); err != nil {
			return "", err
		}
		return i.sealed.Root, nil
	}
	if i.Digest, err = l.vault.Digest(ctx, i.source); err != nil {
		return "", err
	}
	if known := approved.Check(i.Trusted()).Previous; known != nil && (known.Digest == i.Digest || i.watched()) {
		if i.sealed, err = l.vault.Seal(ctx, i.source, i.Digest); err != nil {
			return "", err
		}
		return i.sealed.Root, nil
	}
	return i.source, nil
}

func (i *Item) watched() bool { return i.entry != nil && i.entry.Watch }

// read reads the description of an item without running it.
func (l *Loader) read(i *Item, from string) error {
	file := ""
	if i.sealed != nil {
		file = i.sealed.File()
	} else if !isDirectory(from) {
		file = i.source
	}
	if file != "" {
		i.Carrier = manifest.CarrierOfFile(file).Name
		i.Request = trust.Request{Carrier: i.Carrier, Undescribed: true}
		l.cachedDescription(i)
		return nil
	}
	pkg, err := l.readPackage(i, from)
	if err != nil {
		return err
	}
	i.pkg, i.Name, i.Carrier, i.Manifest = pkg, pkg.Description.Name, pkg.Carrier, pkg.Description
	i.Warnings = append(i.Warnings, pkg.Warnings...)
	i.Request = l.requestOf(i, pkg)
	if pkg.Undescribed {
		l.cachedDescription(i)
	}
	return l.allowServers(pkg)
}

// allowServers returns an error if the policy does not permit the address of a server.
func (l *Loader) allowServers(p *manifest.Package) error {
	for _, name := range sortedKeys(p.Servers) {
		if address := p.Servers[name].URL; address != "" {
			if err := l.opts.Policy.Allows(source.Ref{Kind: source.Archive, URL: address}); err != nil {
				return fmt.Errorf("MCP server %s: %w", name, err)
			}
		}
	}
	return nil
}

// keptPackage is the cache key of the manifest of a sealed package. The number changes with the reader and its checks.
const keptPackage = "package-12-" + runtime.GOOS + "-" + runtime.GOARCH

// readPackage reads a package. The result for a sealed package is kept with the copy, since neither changes.
func (l *Loader) readPackage(i *Item, dir string) (*manifest.Package, error) {
	name := ""
	if i.installed != nil {
		name = i.installed.Name
	}
	s := i.sealed
	if s == nil {
		return manifest.Read(dir)
	}
	kept := keptPackage + "-" + name
	if data, err := s.Kept(kept); err == nil {
		p := new(manifest.Package)
		if err := value.Decode(data, p); err == nil && p.Root == s.Root { // three times as fast as encoding/json
			return p, nil
		}
	}
	p, err := manifest.ReadNamed(dir, name)
	if err != nil {
		return nil, err
	}
	data, err := jsontext.Marshal(p)
	if err == nil {
		err = s.Keep(kept, data)
	}
	if err != nil {
		l.log.Debug("manifest of a package not cached", "plugin", p.Description.Name, "err", err)
	}
	return p, nil
}

// decide compares an item with its approval.
func (l *Loader) decide(i *Item, approved trust.Entries) {
	i.Request.Replaces = l.replaced(&i.Request)
	d := approved.Check(i.Trusted())
	if known := d.Previous; known != nil && known.Digest == i.Digest && i.Request.Undescribed && i.Name != known.Name {
		i.Name = known.Name // from an earlier description
		d = approved.Check(i.Trusted())
	}
	if !d.Approved && d.Why == trust.WhyChanged && i.watched() {
		d = trust.Decision{Approved: true, Grants: d.Previous.Grants, Disabled: d.Disabled, Reason: d.Reason, Previous: d.Previous}
	}
	granted := i.Request.Capabilities
	if d.Approved {
		granted = d.Grants
	}
	private := l.Grantable(granted)
	i.Decision, i.Grants, i.Reason = d, nil, d.Reason
	switch {
	case d.Disabled:
		i.State = StateDisabled
	case slices.Contains(l.opts.Without, i.Name):
		i.State, i.Reason = StateDisabled, "switched off for this run"
	case d.Quarantined != "":
		i.State, i.Reason = StateQuarantined, d.Quarantined
	case private != nil: // approved by a version without this check, or before a directory moved
		i.State, i.Reason = StatePending, private.Error()
	case !d.Approved:
		i.State = StatePending
	default: // locate has sealed it, because its content is approved
		i.State, i.Grants = StateReady, d.Grants
	}
}

// Kinds of built-ins that a plugin can replace: the first words of entries of Request.Replaces.
const (
	kindTool     = "tool"
	kindProvider = "provider"
)

// replaced returns the built-in tools and providers that an item replaces.
func (l *Loader) replaced(r *trust.Request) []string {
	if len(r.Tools)+len(r.Providers) == 0 || l.opts.Shipped == nil {
		return nil
	}
	tools, providers := l.shipped()
	var out []string
	for _, id := range r.Tools {
		if slices.Contains(tools, id) {
			out = append(out, kindTool+" "+id)
		}
	}
	for _, line := range r.Providers {
		id, _, _ := strings.Cut(line, ": ") // see providerLine
		if slices.Contains(providers, id) {
			out = append(out, kindProvider+" "+id)
		}
	}
	return out
}

// named looks up the entries that are names. Entries with the names of built-in plugins only set their options.
func (l *Loader) named(items []*Item) []*Item {
	for n := range l.opts.Entries {
		e := &l.opts.Entries[n]
		if _, isPath := l.entryPath(e); isPath || slices.Contains(l.opts.Reserved, e.Path) {
			continue
		}
		mention := e.mention(n)
		named := func(i *Item) bool { return i.Name == e.Path || i.installed != nil && i.installed.Ref == e.Path }
		at := slices.IndexFunc(items, func(i *Item) bool { return i.usable() && named(i) })
		if broken := slices.IndexFunc(items, named); at < 0 && broken >= 0 { // its own error is the reason
			items[broken].Required = items[broken].Required || e.Required
			continue
		}
		if at < 0 {
			mention.reject(l.unknownName(items, e))
			items = append(items, mention)
			continue
		}
		i := items[at]
		if e.Project && i.place < placeProject {
			i.Required = i.Required || e.Required
			i.ignoreOptions(mention)
			continue
		}
		from, place, project := i.From, i.place, i.Project
		i.merge(mention)
		i.From, i.place, i.Project = from, place, project // a mention does not change the origin
	}
	return items
}

func (l *Loader) unknownName(items []*Item, e *Entry) error {
	var names []string
	for _, i := range items {
		if i.usable() {
			names = append(names, i.Name)
		}
	}
	if source.IsRef(e.Path) {
		return fmt.Errorf("%w: %s names %q; run: tenon plugin install %s", ErrMissing, orUnknown(e.From), e.Path, e.Path)
	}
	remedy := "put it into the plugin directory, or write a path that begins with ./"
	if len(names) > 0 {
		remedy += "; found: " + strings.Join(names, ", ")
	}
	return fmt.Errorf("%w: %s names %q; %s", ErrMissing, orUnknown(e.From), e.Path, remedy)
}

// oneOfEach returns the items with one usable plugin of each name: the command line takes precedence over the user's plugins, and these
// over the project's. Others are rejected, or left out if their content is the same.
func (l *Loader) oneOfEach(items []*Item) []*Item {
	for _, i := range items {
		switch {
		case !i.usable():
		case slices.Contains(l.opts.Reserved, i.Name):
			i.reject(fmt.Errorf("%w: %q is a built-in plugin; rename the one in %s", ErrTwice, i.Name, i.Path))
		case OwnForm(i.Name):
			i.reject(fmt.Errorf("%w: name %q: such names belong to command hooks and MCP servers; rename the plugin in %s", sdk.ErrManifest, i.Name, i.Path))
		}
	}
	best := map[string]*Item{}
	for _, i := range items {
		if have := best[i.Name]; i.usable() && (have == nil || i.precedes(have)) {
			best[i.Name] = i
		}
	}
	return slices.DeleteFunc(items, func(i *Item) bool {
		b := best[i.Name]
		switch {
		case !i.usable() || b == i:
			return false
		case b.Digest == i.Digest && len(i.Options) == 0: // otherwise report it, because its options have no effect
			b.Required = b.Required || i.Required
			return true
		}
		i.reject(fmt.Errorf("%w: %q is %s and %s; the former is used; rename or remove one of them", ErrTwice, i.Name, b.Path, i.Path))
		return false
	})
}

// OwnForm reports whether a name has the form that tenon uses for command hooks and MCP servers. A plugin with such a name would replace
// them: the user's command hooks would not run.
func OwnForm(name string) bool {
	return strings.HasPrefix(name, "hooks.") || strings.HasSuffix(name, ".hooks") || strings.HasPrefix(name, "mcp.")
}

// precedes reports whether i, which comes later, takes precedence over another item with its name. A pending plugin does not replace an
// approved one.
func (i *Item) precedes(o *Item) bool {
	if i.place != o.place {
		return i.place < o.place
	}
	return o.State == StatePending && i.State != StatePending
}

// open adds the contributions of an approved item.
func (l *Loader) open(i *Item, out *Loaded) {
	switch d := &i.Manifest; {
	case i.pkg == nil || d.Runtime != nil:
		var err error
		if i.Plugin, err = l.plugin(i); err != nil {
			i.reject(err)
			return
		}
	case len(d.Agents)+len(d.Commands) > 0:
		info := sdk.Manifest{Name: d.Name, Version: d.Version, Description: d.Summary, Carrier: sdk.CarrierCommand}
		i.Plugin = &texts{sdk.Bundle{Info: info}, d}
	}
	l.contribute(i, out)
}

// contribute adds the contributions of a package other than its runtime.
func (l *Loader) contribute(i *Item, out *Loaded) {
	if i.pkg == nil {
		return
	}
	out.Skills = append(out.Skills, i.pkg.Skills...)
	data, env := l.dataDir(i), l.grantedEnv(i)
	for _, name := range sortedKeys(i.pkg.Servers) {
		out.Servers = append(out.Servers, Server{Plugin: i.Name, Name: name, Root: i.pkg.Root, Data: data, Entry: i.pkg.Servers[name], Granted: env})
	}
	if i.pkg.HookFile != "" {
		out.HookFiles = append(out.HookFiles, HookFile{Plugin: i.Name, Path: i.pkg.HookFile, Content: []byte(i.pkg.Hooks), Root: i.pkg.Root, Data: data})
	}
}

// Approve records the approval of an item as shown, with these grants, and seals its content. The approval of the content that a lock file
// pins now stays valid, as do those of contents to which rollback of the user's lock file can return. If the content changed since it was
// shown, nothing is recorded and the error wraps trust.ErrChanged; for a grant over tenon's own directories, it wraps ErrPrivate.
func (l *Loader) Approve(ctx context.Context, i *Item, grants []sdk.Capability) error {
	if i.State != StatePending {
		return fmt.Errorf("%s is not waiting for approval: it is %s", i.Name, i.State)
	}
	if err := l.Grantable(grants); err != nil {
		return err
	}
	sealed, err := l.vault.Seal(ctx, i.source, i.Digest)
	if err != nil {
		return err
	}
	again := &Item{Name: i.Name, Path: i.Path, Digest: i.Digest, source: i.source, sealed: sealed, installed: i.installed}
	if err := l.read(again, sealed.Root); err != nil {
		return err
	}
	again.Request.Replaces = l.replaced(&again.Request)
	// Without a cached description there is nothing to compare, and the digest guarantees the content.
	if !again.Request.Undescribed && (again.Name != i.Name || len(trust.Diff(i.Request, again.Request)) > 0) {
		return fmt.Errorf("%s: %w while it was shown; review it again", i.Path, trust.ErrChanged)
	}
	kept, err := l.kept(i.installed)
	if err != nil {
		return err
	}
	if err := l.store.Approve(ctx, i.Trusted(), grants, kept); err != nil {
		return err
	}
	l.Save()
	return l.collect()
}

// kept returns the contents of an installed plugin whose approvals another approval does not replace. An update that is interrupted before it
// writes its pin leaves the present one. Earlier ones count only in the user's lock file: others can write that of a project.
func (l *Loader) kept(in *Installed) (map[trust.Digest]bool, error) {
	if in == nil {
		return nil, nil
	}
	f, err := l.History().Read(in.Lock)
	if err != nil {
		return nil, err
	}
	out := map[trust.Digest]bool{}
	if !in.Project {
		out, err = l.History().Digests()
	}
	if p := f.Find(in.Name); p != nil && err == nil {
		out[p.Digest] = true
	}
	return out, err
}

// Untrust revokes the approvals of a plugin, given its name or its absolute path with links resolved, and deletes its sealed copies.
// The error is trust.ErrNotFound if nothing was approved.
func (l *Loader) Untrust(ctx context.Context, name string) error {
	gone, err := l.store.Revoke(ctx, trust.KindPlugin, name)
	if err != nil {
		return err
	}
	used, err := l.used()
	if err != nil {
		return err
	}
	for _, e := range gone {
		if !used(e.Digest) {
			err = errors.Join(err, l.vault.Remove(e.Digest))
		}
	}
	l.Save()
	return errors.Join(err, l.collect())
}

// used returns a function that reports whether a sealed copy is approved, or a stored state of a lock file names it.
func (l *Loader) used() (func(trust.Digest) bool, error) {
	entries, err := l.store.Read()
	if err != nil {
		return nil, err
	}
	pinned, err := l.History().Digests()
	return func(d trust.Digest) bool {
		return pinned[d] || slices.ContainsFunc(entries, func(e trust.Entry) bool { return e.Digest == d })
	}, err
}

// collect deletes the sealed copies that are not used.
func (l *Loader) collect() error {
	used, err := l.used()
	if err != nil {
		return err
	}
	err = l.vault.Collect(used)
	if errors.Is(err, fs.ErrPermission) {
		return nil // a copy in use cannot be deleted on this system; a later call will
	}
	return err
}
