// Package install fetches plugins into the sealed store, for lock files. It neither runs, approves nor pins plugins: the command does.
//
//	"github:owner/repo"
//	      │ source.Parse, marketplace.Store.Find
//	source.Ref ──► plan ──► source.Fetched   a directory, with the fields that pin it
//	                             │ trust.Vault.Seal
//	                    plugins.Installed    a sealed copy, and the entry for a lock file
//	                             │ approval by the user (cmd/tenon/internal/install)
//	                        pins.Plugin      in the lock file, by pins.History.Change
package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/internal/atomicfile"
	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/plugins"
	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/plugins/marketplace"
	"github.com/tenonhq/tenon/plugins/pins"
	"github.com/tenonhq/tenon/plugins/signature"
	"github.com/tenonhq/tenon/plugins/source"
	"github.com/tenonhq/tenon/plugins/trust"
)

// ErrOutside is returned for a lock file of a project that names a path outside of the project.
var ErrOutside = errors.New("path outside the project")

// ErrRenamed is returned for a reference that now names a different plugin.
var ErrRenamed = errors.New("the plugin has another name")

// ErrMoved is returned for new content of an npm package from another server than the installed content: without the settings for a private
// registry, a public one may have another package of the same name.
var ErrMoved = errors.New("the plugin comes from another server")

// Installer installs plugins. Its fields must not change while it is used.
type Installer struct {
	Fetcher *source.Fetcher
	Vault   *trust.Vault
	Policy  signature.Policy     // of the user
	Key     *signature.PublicKey // must have signed content that is staged without a pin, in addition to the policy; nil: none
	was     *signature.PublicKey // key that signed the previous content; it must have signed the new content unless the policy names a signer
	keeps   string               // name for a package without a name; empty: the name of its file
	Markets marketplace.Store    // of the user
	History pins.History
	Home    string // for ~ in references
	// Vendor is the directory of the project with the content of its pins; empty: none.
	Vendor string
	Temp   string // directory for unpacking, on the file system of the vault; created when needed
}

// Target is a lock file.
type Target struct {
	Path    string // absolute
	Project bool   // the project's lock file: paths in it are relative to it and must stay in the project
	Base    string // base of relative paths in references; empty: the directory of the lock file
}

func (t Target) dir() string { return filepath.Dir(t.Path) }

func (t Target) base() string { return cmp.Or(t.Base, t.dir()) }

// Renew stages the current content of an installed plugin's reference. Errors: ErrRenamed and ErrMoved if it may be a different plugin, those of
// Stage.
func (in *Installer) Renew(ctx context.Context, t Target, p pins.Plugin) (*plugins.Installed, error) {
	renewing, fetcher := *in, *in.Fetcher
	renewing.was, renewing.keeps, renewing.Fetcher = signature.KeyOf(p.Signer), p.Name, &fetcher
	fetcher.Platforms = slices.Collect(maps.Keys(p.Platforms)) // platforms that tenon plugin lock added
	s, err := renewing.Stage(ctx, t, p.Ref, nil)
	if err == nil && s.Name != p.Name {
		err = fmt.Errorf("%w: %s is %q now", ErrRenamed, p.Name, s.Name)
	}
	if err == nil && s.Integrity != "" && p.Integrity != "" && !s.Same(&p) && registry(s.URL) != registry(p.URL) {
		err = fmt.Errorf("%w: %s is from %s now, the installed content from %s", ErrMoved, p.Name, registry(s.URL), registry(p.URL))
	}
	return s, err
}

// server returns the host and port of an address.
func server(address string) string { return source.Ref{Kind: source.Archive, URL: address}.Host() }

// registry returns the host in the address of a package and, if the address has npm's usual form, the path of the package: a server may have
// private registries next to a copy of the public one.
func registry(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	path, _, found := strings.Cut(u.Path, "/-/")
	if !found {
		path = ""
	}
	return strings.ToLower(u.Host) + path
}

// Stage fetches a plugin and seals its content. With a pin, the content is exactly the pinned one, or the error wraps
// source.ErrMismatch. Otherwise the reference decides, and the name is that of the package, or of its file.
func (in *Installer) Stage(ctx context.Context, t Target, ref string, pin *pins.Plugin) (*plugins.Installed, error) {
	p, err := in.plan(t, ref, pin)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(in.Temp, 0o700); err != nil {
		return nil, err
	}
	sweep(in.Temp, tempStart)
	temp, err := os.MkdirTemp(in.Temp, tempStart)
	if err != nil {
		return nil, err
	}
	s, err := in.stage(ctx, t, p, temp)
	return s, errors.Join(err, child.RemoveAll(temp))
}

// tempStart is the prefix of the names of directories in Temp.
const tempStart = ".install-"

// abandonedAfter is the time after which a temporary directory belongs to a process that was killed.
const abandonedAfter = 24 * time.Hour

// sweep deletes directories in dir with the prefix start that killed processes left. It ignores files that it cannot delete, such as those of
// another user.
func sweep(dir, start string) {
	list, _ := os.ReadDir(dir)
	for _, e := range list {
		if info, err := e.Info(); err == nil && strings.HasPrefix(e.Name(), start) && time.Since(info.ModTime()) > abandonedAfter {
			_ = child.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}

// plan describes how one plugin is fetched.
type plan struct {
	ref     source.Ref // as the user wrote it
	from    source.Ref // the reference that is fetched
	pin     *pins.Plugin
	found   *marketplace.Found // in a marketplace; nil for others, and with a pin
	fetcher *source.Fetcher
}

// plan resolves a reference. The address of a plugin of a marketplace is the pinned one, or that of the user's catalogue.
func (in *Installer) plan(t Target, ref string, pin *pins.Plugin) (*plan, error) {
	fetcher := *in.Fetcher
	p := &plan{pin: pin, fetcher: &fetcher}
	var err error
	p.ref, err = source.Parse(ref, t.base(), in.Home)
	p.from, fetcher.Described = p.ref, p.ref.Kind != source.Catalogue
	switch {
	case err != nil || p.ref.Kind != source.Catalogue:
	case pin != nil:
		p.from, err = pin.Resolved(t.base(), in.Home)
	default:
		if p.found, err = in.Markets.Find(p.ref.URL, p.ref.Version); err != nil {
			return nil, err
		}
		p.from = p.found.Ref
		p.fetcher.Guarded = in.Fetcher.Guarded || p.found.Guarded
	}
	if err == nil {
		err = t.allows(p.from)
	}
	if err == nil {
		err = in.guard(p)
	}
	return p, err
}

// guard applies the policy: to the address before the fetch, and to the signature after it.
func (in *Installer) guard(p *plan) error {
	policy := in.Policy
	if err := policy.Allows(p.from); err != nil {
		return err
	}
	switch {
	case p.pin != nil:
	case in.Key == nil && !policy.Requires(p.from):
		policy = policy.With(in.was)
	default:
		policy = policy.With(in.Key)
	}
	p.fetcher.Verify, p.fetcher.Judge = policy.Verify, policy.Judge(p.from)
	return nil
}

func (in *Installer) stage(ctx context.Context, t Target, p *plan, temp string) (*plugins.Installed, error) {
	r, pin := p.from, p.pin
	var want *source.Pin
	if pin != nil {
		want = &pin.Pin
	}
	dir := filepath.Join(temp, "plugin")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	var fetched *source.Fetched
	var err error
	if in.mayVendor(r) {
		fetched, err = in.vendored(ctx, pin, dir)
	}
	if fetched == nil && err == nil {
		fetched, err = p.fetcher.Fetch(ctx, r, want, dir)
	}
	if err != nil {
		return nil, err
	}
	if err := p.define(fetched, dir); err != nil {
		return nil, fmt.Errorf("%s: %w", p.ref, err)
	}
	digest, err := in.Vault.Digest(ctx, fetched.Path)
	if err != nil {
		return nil, err
	}
	if pin != nil && !pin.Local && pin.Digest != digest {
		return nil, fmt.Errorf("%s: %w: its digest is %s, but %s is pinned", r, source.ErrMismatch, digest.Short(), pin.Digest.Short())
	}
	sealed, err := in.Vault.Seal(ctx, fetched.Path, digest)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(sealed.KeepLeftOut(fetched.LeftOut), sealed.KeepSigner(fetched.Signer)); err != nil {
		return nil, err
	}
	name := ""
	if pin != nil {
		name = pin.Name
	} else if name, err = plugins.NameOf(sealed, cmp.Or(in.keeps, p.nameFor(fetched.Path))); err != nil {
		return nil, fmt.Errorf("%s: %w", r, err)
	}
	fetched.Ref = t.written(p.ref)
	if p.ref.Kind == source.Catalogue {
		fetched.Source = t.written(r)
	}
	s := &plugins.Installed{Plugin: pins.Plugin{Name: name, Pin: fetched.Pin, Digest: digest}, Lock: t.Path, Project: t.Project}
	return s, in.History.Made(s.Plugin)
}

// nameFor returns the file or directory whose name is used for a plugin without a name.
func (p *plan) nameFor(path string) string {
	r := p.from
	switch {
	case p.found != nil:
		return p.found.Name
	case strings.HasSuffix(path, ".wasm"), r.Kind == source.Go:
		return path
	case r.Subdir != "":
		return r.Subdir
	}
	name, _, _ := strings.Cut(r.URL, "?")
	for _, suffix := range []string{".git", ".tar.gz", ".tgz", ".zip"} {
		name = strings.TrimSuffix(name, suffix)
	}
	return name
}

// allows returns ErrOutside for a path outside of the project, if the target is the project's file.
func (t Target) allows(r source.Ref) error {
	if r.Kind != source.Path || !t.Project {
		return nil
	}
	// Check the text first: other paths may be on a server, which must not be contacted.
	if !projectfs.Inside(t.dir(), r.URL) || !projectfs.Within(projectfs.Real(t.dir()), projectfs.Real(r.URL)) {
		return fmt.Errorf("%w: %s", ErrOutside, r)
	}
	return nil
}

// written returns a reference in the form of the lock file, in which a project's paths are relative to the file.
func (t Target) written(r source.Ref) string {
	if r.Kind == source.Path && t.Project {
		if rel, err := filepath.Rel(t.dir(), r.URL); err == nil && filepath.IsLocal(rel) {
			return "./" + filepath.ToSlash(rel)
		}
	}
	return r.String()
}

// Missing returns the plugins of a lock file whose content is not in the vault, is damaged there, or has a signature that was not checked.
func (in *Installer) Missing(ctx context.Context, t Target, f *pins.File) ([]pins.Plugin, error) {
	var out []pins.Plugin
	for _, p := range f.Plugins {
		installed := plugins.Installed{Plugin: p, Lock: t.Path, Project: t.Project}
		switch _, err := installed.Open(ctx, in.Vault, in.Policy, in.Home); {
		case err == nil:
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, trust.ErrChanged):
			out = append(out, p)
		default:
			return nil, err
		}
	}
	return out, nil
}

// mayVendor reports whether the vendor directory may replace a source. Its content has no signature that could be checked.
func (in *Installer) mayVendor(r source.Ref) bool {
	return in.Vendor != "" && !in.Policy.Requires(r)
}

// Hosts returns the hosts that fetching pinned plugins contacts, each once, in order.
func (in *Installer) Hosts(t Target, list []pins.Plugin) ([]string, error) {
	var out []string
	seen := map[string]bool{"": true}
	for _, p := range list {
		r, err := p.Resolved(t.base(), in.Home)
		if err == nil {
			err = t.allows(r)
		}
		if err != nil {
			return nil, fmt.Errorf("%s, plugin %s: %w", t.Path, p.Name, err)
		}
		if _, err := os.Lstat(tree(in.Vendor, p.Digest)); in.mayVendor(r) && !p.Local && err == nil {
			continue
		}
		packages, err := p.NPMPackages()
		if err != nil {
			return nil, fmt.Errorf("%s, plugin %s: %w", t.Path, p.Name, err)
		}
		hosts := []string{r.Host()}
		if content, err := p.Content(r); err == nil && content.Kind == source.NPM {
			packages = append([]string{content.URL}, packages...)
		}
		for _, name := range packages {
			registry, err := in.Fetcher.RegistryOf(name)
			if err != nil {
				return nil, err
			}
			hosts = append(hosts, server(registry.URL))
		}
		for _, host := range append(hosts, server(p.URL)) {
			if !seen[host] {
				seen[host] = true
				out = append(out, host)
			}
		}
	}
	return out, nil
}

// Describe returns a pin in words: its version and commit or digest.
func Describe(p pins.Plugin) string {
	var parts []string
	if p.Version != "" {
		parts = append(parts, p.Version)
	}
	if p.Commit != "" {
		parts = append(parts, "commit "+p.Commit[:min(12, len(p.Commit))])
	}
	if p.Digest != "" {
		parts = append(parts, "content "+p.Digest.Short())
	}
	return strings.Join(parts, ", ")
}

// define writes the manifest that a marketplace defines for a fetched plugin in dir: the pinned manifest, or the one from the
// catalogue's entry.
func (p *plan) define(fetched *source.Fetched, dir string) error {
	if p.found != nil {
		info, err := os.Stat(fetched.Path)
		if err != nil || !info.IsDir() {
			return err
		}
		own, err := manifest.ReadClaude(fetched.Path)
		if err != nil {
			return err
		}
		if fetched.Definition, err = p.found.Manifest(own, manifest.Is(fetched.Path)); err != nil {
			return err
		}
	}
	if len(fetched.Definition) == 0 {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close() // its files were closed
	if err := root.MkdirAll(filepath.Dir(manifest.ClaudeFile), 0o755); err != nil {
		return err
	}
	return atomicfile.WriteIn(root, filepath.FromSlash(manifest.ClaudeFile), jsontext.Compact(fetched.Definition), atomicfile.Options{Mode: 0o644})
}
