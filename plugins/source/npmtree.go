package source

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/internal/visible"
)

// Names of npm's files.
const (
	npmManifest   = "package.json"
	npmLock       = "package-lock.json"
	npmShrinkwrap = "npm-shrinkwrap.json"
	npmModules    = "node_modules"
)

// maxNPMFile is the maximum size of one of these files in bytes. The largest have about 1 MB; decoding one takes many times its size.
const maxNPMFile = 4 << 20

// ErrDependencies is returned for npm packages whose dependencies cannot be installed.
var ErrDependencies = errors.New("unusable dependencies")

// npmNeeds are the dependencies in a package.json, by name: version ranges.
type npmNeeds struct {
	Dependencies map[string]string `json:"dependencies,omitempty"`
	Optional     map[string]string `json:"optionalDependencies,omitempty"`
	Peers        map[string]string `json:"peerDependencies,omitempty"`
	PeersMeta    map[string]struct {
		Optional bool `json:"optional"`
	} `json:"peerDependenciesMeta,omitempty"`
}

// needs reads the dependencies of the package in dir that are not in it. Errors for dependencies from sources other than the registry
// wrap ErrDependencies.
func needs(dir string) (npmNeeds, error) {
	data, err := projectfs.ReadRegular(filepath.Join(dir, npmManifest), maxNPMFile)
	if err != nil {
		return npmNeeds{}, fmt.Errorf("not an npm package: %w", err)
	}
	var n npmNeeds
	if err := json.Unmarshal(data, &n); err != nil {
		return n, fmt.Errorf("%s: %w", npmManifest, err)
	}
	all := map[string]string{}
	maps.Copy(all, n.Peers)
	maps.DeleteFunc(all, func(name, _ string) bool { return n.PeersMeta[name].Optional })
	maps.Copy(all, n.Dependencies)
	for name := range n.Optional {
		delete(all, name)
	}
	n = npmNeeds{Dependencies: all, Optional: n.Optional}
	for _, list := range []map[string]string{n.Dependencies, n.Optional} {
		for name, spec := range list {
			if _, err := npmRef("", name); err != nil || !fromRegistry(spec) {
				return n, fmt.Errorf("%w: %s is %q; dependencies must come from the registry, as a version or a range", ErrDependencies, visible.Clean(name, 100), visible.Clean(spec, 100))
			}
		}
	}
	return n, nil
}

// fromRegistry reports whether the text of a dependency names a version in the registry, and not a repository, an address or a path.
func fromRegistry(spec string) bool {
	if alias, ok := strings.CutPrefix(spec, "npm:"); ok {
		_, err := npmRef("", strings.TrimSuffix(alias, "@"))
		return err == nil && !strings.ContainsAny(alias, ":\\")
	}
	return !strings.ContainsAny(spec, ":/\\") && !strings.HasPrefix(spec, ".")
}

// bundled reports whether a package contains all of its dependencies or none. If it contains only some, they
// cannot be completed, which is an error.
func (n npmNeeds) bundled(dir string) (bool, error) {
	var missing []string
	for name := range n.Dependencies {
		if _, err := os.Stat(filepath.Join(dir, npmModules, filepath.FromSlash(name), npmManifest)); err != nil {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return true, nil
	}
	slices.Sort(missing)
	if _, err := os.Lstat(filepath.Join(dir, npmModules)); err == nil {
		return false, fmt.Errorf("%w: the package contains some of them, but not %s", ErrDependencies, strings.Join(missing, ", "))
	}
	return false, nil
}

// npmTree adds the dependencies of the package in dir, unless it contains them, and pins them. npm installs them in a directory that has
// no file of the package; it runs no script.
func (f *Fetcher) npmTree(ctx context.Context, out *Fetched, dir string) (err error) {
	n, err := needs(dir)
	if err != nil {
		return err
	}
	if bundled, err := n.bundled(dir); err != nil || bundled && out.Packages == nil {
		return err
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), ".npm-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, child.RemoveAll(work)) }()
	g, err := f.openGate(work)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	if err := g.write(npmManifest, encode(n)); err != nil {
		return err
	}
	if out.Packages == nil && out.pinned { // its registries are not among the confirmed ones
		return fmt.Errorf("%w: it has dependencies, which are not pinned", ErrMismatch)
	}
	if out.Packages == nil {
		lock, err := g.resolve(ctx, n, dir)
		if err != nil {
			return err
		}
		out.Packages, out.Local = encode(lock), true
	}
	return g.install(ctx, n, out.Packages, dir)
}

func (g *npmGate) write(name string, data []byte) error {
	return os.WriteFile(filepath.Join(g.work, name), data, 0o600)
}

// resolve chooses the versions of the dependencies: those in the package's shrinkwrap, else the newest matching ones.
func (g *npmGate) resolve(ctx context.Context, n npmNeeds, dir string) (*packageLock, error) {
	data, err := projectfs.ReadRegular(filepath.Join(dir, npmShrinkwrap), maxNPMFile)
	if err == nil {
		var lock *packageLock
		var settings error
		lock, err = readNPMLock(data, func(name string) string {
			r, err := g.f.RegistryOf(name)
			settings = cmp.Or(settings, err)
			return r.URL + "/"
		})
		if err = cmp.Or(settings, err); err == nil {
			err = g.write(npmLock, lock.forNPM(n, g.tarballs))
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := g.npm(ctx, "install", "--package-lock-only"); err != nil {
		return nil, err
	}
	if data, err = os.ReadFile(filepath.Join(g.work, npmLock)); err != nil {
		return nil, err
	}
	return readNPMLock(data, g.tarballs)
}

// install adds the packages of a pin to dir.
func (g *npmGate) install(ctx context.Context, n npmNeeds, packages []byte, dir string) error {
	lock, err := readNPMLock(packages, pinBase)
	if err != nil {
		return err
	}
	g.lock.Store(lock)
	if err := g.write(npmLock, lock.forNPM(n, g.tarballs)); err != nil {
		return err
	}
	if err := g.npm(ctx, "ci"); err != nil {
		return err
	}
	tree := filepath.Join(g.work, npmModules)
	// Remove npm's own note about the tree, which differs each time.
	if err := os.RemoveAll(filepath.Join(tree, "."+npmLock)); err != nil {
		return err
	}
	err = os.Rename(tree, filepath.Join(dir, npmModules))
	if errors.Is(err, fs.ErrNotExist) { // only optional ones, none for this platform
		return nil
	}
	return err
}

// npmSettings are all settings of npm. An older npm ignores settings that it does not know; the gate then refuses the requests.
const npmSettings = `registry=%[1]s
proxy=%[1]s
https-proxy=%[1]s
git=%[2]s/there-is-no-git
ignore-scripts=true
allow-git=none
allow-file=none
allow-directory=none
replace-registry-host=never
omit-lockfile-registry-resolved=false
lockfile-version=3
omit=dev
audit=false
fund=false
update-notifier=false
fetch-retries=0
loglevel=error
logs-max=0
`

// npm runs the user's npm.
func (g *npmGate) npm(ctx context.Context, args ...string) error {
	if err := g.write(".npmrc", fmt.Appendf(nil, npmSettings, g.base, g.work)); err != nil {
		return err
	}
	g.f.progress("npm: dependencies", 0, 0)
	args = append(args, "--cache="+filepath.Join(g.work, ".cache")) // overrides the cache in the environment of a confined program
	_, err := tool{name: "npm", args: args, dir: g.work, write: []string{g.work}, helps: []string{"node"}, env: map[string]string{
		"HOME": g.work, "USERPROFILE": g.work, "TMPDIR": g.work, "TEMP": g.work, "TMP": g.work,
		"npm_config_userconfig": filepath.Join(g.work, ".npmrc"), "npm_config_globalconfig": filepath.Join(g.work, ".global"),
	}}.run(ctx, g.f)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("%w: %w", ErrDependencies, cmp.Or(g.problem(), err))
}

// packageLock is the part of npm's package-lock that decides about content,
// see https://docs.npmjs.com/cli/v11/configuring-npm/package-lock-json.
type packageLock struct {
	Packages map[string]lockedPackage `json:"packages"`
}

// lockedPackage is a package in a lock. Its place is its path: node_modules/a/node_modules/b.
type lockedPackage struct {
	Name      string            `json:"name,omitempty"` // of an alias
	Version   string            `json:"version,omitempty"`
	Resolved  string            `json:"resolved,omitempty"` // in a pin, a path in the registry
	Integrity string            `json:"integrity,omitempty"`
	InBundle  bool              `json:"inBundle,omitempty"`
	Link      bool              `json:"link,omitempty"`
	Dev       bool              `json:"dev,omitempty"`
	OptionalP bool              `json:"optional,omitempty"`
	DevOpt    bool              `json:"devOptional,omitempty"`
	Peer      bool              `json:"peer,omitempty"`
	Wrapped   bool              `json:"hasShrinkwrap,omitempty"`
	OS        []string          `json:"os,omitempty"`
	CPU       []string          `json:"cpu,omitempty"`
	Libc      []string          `json:"libc,omitempty"`
	Bin       map[string]string `json:"bin,omitempty"`
	Bundled   json.RawMessage   `json:"bundleDependencies,omitempty"`
	npmNeeds
}

// lockedPlace matches the places of packages in a lock. Compiled with the first lock: a start reads none.
var lockedPlace = lazyregexp.New(`^node_modules/(@[\w.~-]+/)?[\w.~-]+(/node_modules/(@[\w.~-]+/)?[\w.~-]+)*$`)

// maxPackages limits the dependencies of one package.
const maxPackages = 2000

// readNPMLock reads npm's lock, in which the addresses of tarballs begin with the base of the package, or a pin's lock, in which they are
// paths: see pinBase. Errors wrap ErrDependencies.
func readNPMLock(data []byte, base func(name string) string) (*packageLock, error) {
	var lock struct {
		packageLock
		Old json.RawMessage `json:"dependencies"` // of npm 6
	}
	err := json.Unmarshal(data, &lock)
	if err == nil && lock.Packages == nil && lock.Old != nil {
		err = errors.New("its lockfileVersion is 1; its publisher can write it again with npm 7 or later")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: npm's lock: %w", ErrDependencies, err)
	}
	delete(lock.Packages, "") // the root is rewritten from the pinned package.json
	for place, p := range lock.Packages {
		if p.Dev {
			delete(lock.Packages, place)
			continue
		}
		p.Resolved = strings.TrimPrefix(p.Resolved, base(p.name(place)))
		p.Resolved = strings.TrimPrefix(p.Resolved, defaultRegistry+"/") // shrinkwraps name npm's registry; a user's registry has the same packages
		lock.Packages[place] = p
	}
	return &lock.packageLock, lock.check()
}

// pinBase returns the base of the addresses in a pin, which are relative to the registry of their package.
func pinBase(string) string { return "" }

// check refuses packages that do not come from the registry with a digest.
func (l *packageLock) check() error {
	if len(l.Packages) > maxPackages {
		return fmt.Errorf("%w: %d packages; at most %d", ErrDependencies, len(l.Packages), maxPackages)
	}
	for place, p := range l.Packages {
		_, digestErr := sha512Of(p.Integrity)
		named := npmModules + "/" + p.name(place)
		switch {
		case !lockedPlace().MatchString(place), !fs.ValidPath(place), !lockedPlace().MatchString(named), !fs.ValidPath(named),
			strings.Contains(named, "/"+npmModules+"/"):
			return fmt.Errorf("%w: %q is not a place for a package", ErrDependencies, visible.Clean(place, 200))
		case p.InBundle && p.Resolved == "" && !p.Link:
		case p.Link, !inRegistry(p.Resolved):
			return fmt.Errorf("%w: %s is from %q, which is not in the registry; dependencies must come from the registry", ErrDependencies, place, visible.Clean(p.Resolved, 200))
		case digestErr != nil:
			return fmt.Errorf("%w: %s: %w", ErrDependencies, place, digestErr)
		}
	}
	return nil
}

// NPMPackages returns the names of the packages that a pin fetches as dependencies.
func (p Pin) NPMPackages() ([]string, error) {
	if p.Packages == nil {
		return nil, nil
	}
	lock, err := readNPMLock(p.Packages, pinBase)
	if err != nil {
		return nil, err
	}
	return lock.names(), nil
}

// names returns the names of the packages, sorted.
func (l *packageLock) names() []string {
	var out []string
	for place, p := range l.Packages {
		out = append(out, p.name(place))
	}
	slices.Sort(out)
	return out
}

// name returns the name of the package at a place.
func (p lockedPackage) name(place string) string {
	parents := strings.Split("/"+place, "/"+npmModules+"/")
	return cmp.Or(p.Name, parents[len(parents)-1])
}

// digest returns the SHA-512 of the tarball of a package, by its path in the registry; empty if there is none.
func (l *packageLock) digest(name, file string) string {
	if l == nil {
		return ""
	}
	for place, p := range l.Packages {
		if p.name(place) == name && p.Resolved == file {
			sum, _ := sha512Of(p.Integrity) // was checked
			return sum
		}
	}
	return ""
}

// program returns the program of a package: the one named like the package, or its only one.
func (l *packageLock) program(name string) (string, error) {
	list := l.Packages[path.Join(npmModules, name)].Bin
	program := list[path.Base(name)]
	for _, file := range list {
		if len(list) == 1 {
			program = file
		}
	}
	if program = path.Clean(program); !filepath.IsLocal(program) || program == "." {
		return "", fmt.Errorf("%w: npm package %s has %d programs; expected one of its name", ErrServer, name, len(list))
	}
	return path.Join(npmModules, name, program), nil
}

// forNPM returns the lock for a package with these needs, with addresses below the base of each package.
func (l *packageLock) forNPM(n npmNeeds, base func(name string) string) []byte {
	packages := map[string]lockedPackage{"": {npmNeeds: n}}
	for place, p := range l.Packages {
		if p.Resolved != "" {
			p.Resolved = base(p.name(place)) + p.Resolved
		}
		packages[place] = p
	}
	return encode(map[string]any{"lockfileVersion": 3, "requires": true, "packages": packages})
}
