// Package sandbox lists the paths that confined commands of a project may read and write, each with its origin. It reads the file system and
// the environment, and starts no process.
//
//	project, temporary directory, caches, devices ──► written
//	everything else                              ──► read
//	secrets of the home directory, tenon's files ──► neither
package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/internal/confine"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

// Access is the right of a command to a path.
type Access string

// The kinds of access.
const (
	Write Access = "write"
	Read  Access = "read"
	Hide  Access = "hidden"
)

// Path is a path with the command's right to it and the origin of that right.
type Path struct {
	Path   string
	Access Access
	Origin string
}

// Secret reports whether the path may hold a user's secret, which he can allow commands to read (sandbox.read).
func (p Path) Secret() bool {
	return p.Access == Hide && slices.Contains([]string{inHome, deeper, account, moved}, p.Origin)
}

// Own is the origin of tenon's directories.
const Own = "files of tenon"

const inHome = "secret of the home directory"

// Origins of paths that are hidden only where commands cannot write.
const (
	deeper    = "secret by its name" // in a subdirectory of the home directory: copies and dotfiles
	temporary = "temporary files of other programs"
	account   = "secret of your account's home directory" // if HOME is another directory
	moved     = "secret by a variable"
)

// Options describe the project and the user.
type Options struct {
	Project sdk.Project
	Environ []string // tenon's environment: the variables of caches, PATH and TENON_CONFIG
	Config  sdk.SandboxConfig
	Skills  []string // directories of skills, which contain programs for commands
	// Create creates missing cache directories, as the programs would.
	Create bool
	// Origin returns the place that set a key such as sandbox.write. If nil, the origin is "configuration".
	Origin func(key string) string
}

// Find returns the paths for a project, without the project and its temporary directory, which Policy adds. It returns an error if the
// configuration makes a path writable that must not be.
func Find(o Options) ([]Path, error) {
	mounts, _ := os.ReadFile("/proc/self/mountinfo") // exists on Linux, the only system that confines
	return find(o, string(mounts))
}

func find(o Options, mounts string) ([]Path, error) {
	f := &finder{Options: o, mounts: mountsOf(mounts), resolver: projectfs.Resolver{}}
	f.add(Read, "default", "/")
	f.add(Write, "device", confine.Devices()...)
	f.add(Hide, Own, f.own()...)
	f.add(Read, "skills", filepath.Join(o.Project.ConfigDir, "skill"), filepath.Join(o.Project.ConfigDir, "skills"))
	for _, path := range o.Skills {
		f.add(Read, "skills", projectfs.FromHome(o.Project.Home, path))
	}
	for _, dir := range []string{"/tmp", "/var/tmp", os.TempDir()} {
		f.add(Hide, temporary, dir)
		holdsHome := func(dir string) bool { return projectfs.Inside(dir, o.Project.Home) }
		if o.Project.Home != "" && slices.ContainsFunc(append(elsewhere(f.mounts, projectfs.Real(dir)), dir), holdsHome) {
			f.add(Read, "home directory", o.Project.Home)
		}
	}
	f.add(Hide, "terminals, disks and other devices", "/dev")
	f.add(Hide, "secrets of the system", "/run/user", "/run/secrets", "/run/credentials", "/var/run/secrets", "/var/mail")
	f.caches()
	if err := f.configured(); err != nil {
		return nil, err
	}
	f.secrets()
	return f.out, nil
}

// Policy returns the policy for a command that writes these directories, such as the project and a temporary one. It does not hide paths
// that the configuration makes readable. In writable directories, it also does not hide paths that are hidden only by their names, as
// temporary files, or because they are in the account's home directory while HOME is a different one.
func Policy(list []Path, writable ...string) confine.Policy {
	p := confine.Policy{Write: slices.Clone(writable)}
	if _, err := os.ReadDir("/"); err != nil { // in another sandbox, such as that of a command that starts tenon: allowing / would allow nothing
		p.Read = confine.System()
	}
	read := map[string]bool{}
	for _, path := range list {
		switch path.Access {
		case Write:
			if _, err := os.Stat(path.Path); err == nil {
				p.Write = append(p.Write, path.Path)
			}
		case Read:
			p.Read = append(p.Read, path.Path)
			read[path.Path] = true
		}
	}
	for _, path := range list {
		mild := path.Origin == deeper || path.Origin == temporary || path.Origin == account || path.Origin == moved
		if path.Access == Hide && !read[path.Path] && !(mild && slices.ContainsFunc(p.Write, func(w string) bool { return projectfs.Inside(w, path.Path) })) {
			p.Hide = append(p.Hide, path.Path)
			if path.Origin == deeper { // such as ../other/.npmrc for go build and npm, which list the directories of sibling projects
				p.List = append(p.List, path.Path)
			}
		}
	}
	return p
}

// SkillDirectories returns the directories of a configuration's skills. Packages are included as a whole, because
// skills may use their files.
func SkillDirectories(c sdk.SkillsConfig) []string {
	out := slices.Clone(c.Paths)
	for _, s := range c.Packaged {
		out = append(out, s.Root)
	}
	return out
}

type finder struct {
	Options
	out      []Path
	mounts   []mount
	precious []precious // filled by refuse
	resolver projectfs.Resolver
}

func (f *finder) add(access Access, origin string, paths ...string) {
	for _, path := range paths {
		path = filepath.Clean(path)
		known := func(p Path) bool { return p.Path == path && p.Access == access }
		if filepath.IsAbs(path) && !slices.ContainsFunc(f.out, known) {
			f.out = append(f.out, Path{path, access, origin})
			if access == Hide && f.mounts != nil {
				f.add(Hide, origin, elsewhere(f.mounts, f.resolver.Real(path))...)
			}
		}
	}
}

// lookup returns a variable of the environment; empty if it is not set.
func (f *finder) lookup(name string) string {
	value, _ := child.Lookup(f.Environ, name)
	return value
}

// own returns tenon's directories and files, and the targets of links in these directories.
func (f *finder) own() []string {
	named := []string{f.Project.ConfigDir, f.Project.DataDir, f.Project.CacheDir, f.lookup("TENON_CONFIG"), f.lookup("TENON_DATA_DIR")}
	out := slices.DeleteFunc(named, func(path string) bool { return !filepath.IsAbs(path) })
	for _, dir := range []string{".config", ".local/share", ".cache"} { // used without these variables
		if f.Project.Home != "" {
			out = append(out, filepath.Join(f.Project.Home, dir, "tenon"))
		}
	}
	for _, dir := range slices.Clone(out) {
		out = append(out, projectfs.PrivateLinks(dir)...)
	}
	return out
}

// configured adds the paths of the configuration.
func (f *finder) configured() error {
	for _, c := range []struct {
		key    string
		access Access
		paths  []string
	}{{"sandbox.write", Write, f.Config.Write}, {"sandbox.read", Read, f.Config.Read}, {"sandbox.hide", Hide, f.Config.Hide}} {
		origin := "configuration"
		if f.Origin != nil && f.Origin(c.key) != "" {
			origin = f.Origin(c.key)
		}
		for _, path := range c.paths {
			full := projectfs.FromHome(f.Project.Home, path)
			if !filepath.IsAbs(full) {
				return fmt.Errorf("%s: %s: path %q is not absolute; begin it with / or ~/", origin, c.key, path)
			}
			if c.access == Write {
				if err := f.refuse(full); err != nil {
					return fmt.Errorf("%s: %s: %w", origin, c.key, err)
				}
				if _, err := os.Stat(full); err != nil {
					return fmt.Errorf("%s: %s: %w; create it, or remove it from the list", origin, c.key, err)
				}
			}
			f.add(c.access, origin, full)
		}
	}
	return nil
}

// refuse returns an error for a path that must not be writable, because commands could replace programs of the user or tenon's files.
func (f *finder) refuse(path string) error {
	if f.precious == nil {
		for _, own := range f.own() {
			f.precious = append(f.precious, precious{projectfs.Real(own), fmt.Sprintf("it contains, or is part of, files of tenon (%s)", own)})
		}
		for _, dir := range filepath.SplitList(f.lookup("PATH")) {
			if filepath.IsAbs(dir) {
				f.precious = append(f.precious, precious{projectfs.Real(dir), fmt.Sprintf("programs are found there (%s in PATH)", dir)})
			}
		}
	}
	resolved := projectfs.Real(path)
	for _, p := range f.precious {
		if projectfs.Inside(p.path, resolved) || projectfs.Inside(resolved, p.path) {
			return fmt.Errorf("%q cannot be writable: %s", path, p.why)
		}
	}
	if home := f.Project.Home; home != "" && projectfs.Inside(resolved, projectfs.Real(home)) {
		return fmt.Errorf("%q cannot be writable: it is your home directory, or contains it", path)
	}
	return nil
}

// precious is a path, without links, that commands must not write, and the reason.
type precious struct{ path, why string }
