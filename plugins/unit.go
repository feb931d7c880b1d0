package plugins

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/plugins/ability"
	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
)

// plugin opens an approved item.
func (l *Loader) plugin(i *Item) (sdk.Plugin, error) {
	if err := checkOptions(i); err != nil {
		return nil, err
	}
	u, err := l.unit(i)
	if err != nil {
		return nil, err
	}
	_, leftOut := remote.Providers(&u.Description, u.Grants)
	i.Warnings = append(i.Warnings, leftOut...)
	u.Broker = ability.New(ability.Options{Plugin: i.Name, Grants: i.Grants, Secret: l.environ, DataDir: u.DataDir, Logger: u.Logger})
	return l.opts.Openers[i.Carrier].Open(u) // an unused broker needs no Close
}

// checkOptions checks the user's options against the plugin's schema.
func checkOptions(i *Item) error {
	if len(i.Options) == 0 && !strings.Contains(string(i.Manifest.Options), `"required"`) {
		return nil // no need to compile the schema
	}
	where := "options of plugin " + i.Name
	if i.entry != nil && i.entry.From != "" {
		where += " in " + i.entry.From
	}
	if len(i.Options) > 0 && len(i.Manifest.Options) == 0 {
		if trimmed := strings.TrimSpace(string(i.Options)); trimmed != "null" && !strings.HasPrefix(trimmed, "{") {
			return fmt.Errorf("%s: want an object", where)
		}
		return nil
	}
	if err := manifest.CheckOptions(i.Manifest.Options, i.Options); err != nil {
		return fmt.Errorf("%s: %w; tenon plugin info %s shows its options", where, err, i.Name)
	}
	return nil
}

// unit returns the unit that a carrier runs. All files are in the sealed copy except programs that the manifest names
// without a path.
func (l *Loader) unit(i *Item) (u remote.Unit, err error) {
	u = remote.Unit{
		Description: i.Manifest, Owner: i.owner(), Grants: i.Grants, Options: i.Options, Root: i.sealed.Root,
		Env: l.grantedEnv(i), DataDir: l.dataDir(i), ConfigFiles: l.opts.ConfigFiles, Logger: l.log.With("plugin", i.Name),
	}
	if len(u.Options) == 0 {
		u.Options = json.RawMessage("null") // otherwise the plugin would ask the host, which also has options from the project's files
	}
	switch {
	case i.pkg == nil:
		u.Program = i.sealed.File()
		u.Description.Runtime = &sdk.Runtime{Type: string(i.Carrier)}
		u.Command = []string{u.Program}
	case manifest.CarrierOf(i.Carrier).Module:
		u.Program, err = manifest.Resolve(u.Root, i.pkg.Description.Runtime.Module)
	default:
		err = l.resolveCommand(&u, i)
	}
	if err != nil || u.Program == "" {
		return u, err
	}
	var ok bool
	if u.Checksum, ok = i.sealed.Sum(u.Program); !ok {
		err = fmt.Errorf("%s is not a file of the package", u.Program)
	}
	return u, err
}

// grantedEnv returns the variables of the user's environment that an item may have.
func (l *Loader) grantedEnv(i *Item) map[string]string {
	out := map[string]string{}
	for _, g := range i.Grants {
		if g.Name != sdk.CapabilityEnv {
			continue
		}
		for _, name := range g.Scope {
			if value, ok := l.environ(name); ok {
				out[name] = value
			}
		}
	}
	return out
}

// resolveCommand finds the program of a process, and the file of the package that it starts.
func (l *Loader) resolveCommand(u *remote.Unit, i *Item) (err error) {
	u.Command = slices.Clone(i.pkg.Description.Runtime.Command)
	if strings.HasPrefix(u.Command[0], "./") {
		u.Command[0], err = manifest.Resolve(u.Root, u.Command[0])
		u.Program = u.Command[0]
		return err
	}
	// Programs of the project do not count, because the model's commands can create them.
	program, err := projectfs.LookPath(u.Command[0], cmp.Or(l.opts.Project.Worktree, l.opts.Project.Directory))
	if err != nil {
		return fmt.Errorf("runtime.command: %q is not installed: %w; install it, or correct PATH", u.Command[0], err)
	}
	u.Command[0] = program
	for n, arg := range u.Command[1:] {
		if path, err := manifest.Resolve(u.Root, arg); err == nil && strings.HasPrefix(arg, "./") && u.Program == "" {
			if _, ok := i.sealed.Sum(path); ok {
				u.Program, u.Command[n+1] = path, path
			}
		}
	}
	return nil
}

// ErrPrivate is returned for a granted directory that contains one of tenon's own directories or configuration files, or is inside one.
var ErrPrivate = errors.New("plugins have no access to tenon's own directories")

// Grantable returns an error that wraps ErrPrivate for the first granted directory that contains one of tenon's own directories or
// configuration files, or is inside one. It follows links. $DATA is the plugin's.
func (l *Loader) Grantable(grants []sdk.Capability) error {
	project := l.opts.Project
	project.CacheDir = l.opts.CacheDir
	for _, g := range grants {
		if g.Name != sdk.CapabilityRead && g.Name != sdk.CapabilityWrite {
			continue
		}
		for _, dir := range g.Scope {
			base, rest, data := remote.Locate(dir, project, "")
			if data || base == "" {
				continue
			}
			if own := remote.Private(filepath.Join(base, rest), project, l.opts.ConfigFiles); own != "" {
				return fmt.Errorf("%w: %s %q contains %s or is inside it; do not grant it (--without %s)", ErrPrivate, g.Name, dir, own, g.Name)
			}
		}
	}
	return nil
}
