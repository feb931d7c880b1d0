package plugins

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/plugins/ability"
	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/sdk"
)

// plugin opens an approved item.
func (l *Loader) plugin(i *Item) (sdk.Plugin, error) {
	carrier := l.opts.Carriers[i.Carrier]
	if carrier == nil {
		return nil, fmt.Errorf("this tenon has no carrier for %s plugins", i.Carrier)
	}
	if err := checkOptions(i); err != nil {
		return nil, err
	}
	u, err := l.unit(i)
	if err != nil {
		return nil, err
	}
	u.Broker = ability.New(ability.Options{Plugin: i.Name, Grants: i.Grants, Secret: l.environ, DataDir: u.DataDir, Logger: u.Logger})
	p, err := carrier.Open(u)
	if err != nil {
		return nil, err // nobody used the broker: nothing to close
	}
	return hold(p, i, u.Logger), nil
}

// mayNeed reports whether a schema can refuse what is left out.
func mayNeed(schema []byte) bool { return strings.Contains(string(schema), `"required"`) }

// checkOptions compares the user's options with what the plugin understands.
func checkOptions(i *Item) error {
	if len(i.options) == 0 && !mayNeed(i.Manifest.Options) {
		return nil
	}
	where := "options of plugin " + i.Name
	if i.entry != nil && i.entry.From != "" {
		where += " in " + i.entry.From
	}
	if len(i.options) > 0 && len(i.Manifest.Options) == 0 {
		if trimmed := strings.TrimSpace(string(i.options)); trimmed != "null" && !strings.HasPrefix(trimmed, "{") {
			return fmt.Errorf("%s: want an object", where)
		}
		return nil
	}
	if err := manifest.CheckOptions(i.Manifest.Options, i.options); err != nil {
		return fmt.Errorf("%s: %w; tenon plugin info %s shows its options", where, err, i.Name)
	}
	return nil
}

// unit says what a carrier runs. Everything but programs that the manifest names without a path is in the sealed copy.
func (l *Loader) unit(i *Item) (Unit, error) {
	u := Unit{
		Name: i.Name, Description: i.Manifest, Grants: i.Grants, Root: i.sealed.Root, Digest: i.Digest,
		Env: map[string]string{}, DataDir: l.dataDir(i), Private: l.private(), Logger: l.log.With("plugin", i.Name),
	}
	for _, g := range i.Grants {
		if g.Name != sdk.CapabilityEnv {
			continue
		}
		for _, name := range g.Scope {
			if value, ok := l.environ(name); ok {
				u.Env[name] = value
			}
		}
	}
	if i.pkg == nil {
		u.Program = i.sealed.File()
		u.Description.Runtime = &sdk.Runtime{Type: string(i.Carrier)}
		if i.Carrier == sdk.CarrierWASM {
			u.Module = u.Program
		} else {
			u.Command = []string{u.Program}
		}
		return u, u.checksum(i)
	}
	rt := i.pkg.Description.Runtime
	if i.Carrier == sdk.CarrierWASM {
		module, err := manifest.Resolve(i.sealed.Root, rt.Module)
		if err != nil {
			return Unit{}, err
		}
		u.Module, u.Program = module, module
		return u, u.checksum(i)
	}
	return u, u.resolveCommand(i, rt.Command)
}

// command finds the program of a process, and the file of the package that is started.
func (u *Unit) resolveCommand(i *Item, command []string) (err error) {
	u.Command = slices.Clone(command)
	if strings.HasPrefix(command[0], "./") {
		if u.Command[0], err = manifest.Resolve(u.Root, command[0]); err != nil {
			return err
		}
		u.Program = u.Command[0]
		return u.checksum(i)
	}
	if u.Command[0], err = lookPath(command[0]); err != nil {
		return err
	}
	for n, arg := range command[1:] {
		if path, err := manifest.Resolve(u.Root, arg); err == nil && strings.HasPrefix(arg, "./") && u.Program == "" {
			if _, ok := i.sealed.Sum(path); ok {
				u.Program, u.Command[n+1] = path, path
			}
		}
	}
	if u.Program == "" {
		return nil
	}
	return u.checksum(i)
}

// lookPath finds a program that the manifest names without a path. One found through a relative directory of PATH is not taken: it
// would be another in every project.
func lookPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil && !filepath.IsAbs(path) {
		err = exec.ErrDot
	}
	if err != nil {
		return "", fmt.Errorf("runtime.command: %q is not installed: %w; install it, or correct PATH", name, err)
	}
	return path, nil
}

func (u *Unit) checksum(i *Item) error {
	sum, ok := i.sealed.Sum(u.Program)
	if !ok {
		return fmt.Errorf("%s is no file of the package", u.Program)
	}
	u.Checksum = sum
	return nil
}
