package plugins

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/plugins/pins"
	"github.com/tenonhq/tenon/plugins/signature"
	"github.com/tenonhq/tenon/plugins/trust"
	"github.com/tenonhq/tenon/sdk"
)

// State is the state of a discovered plugin.
type State string

// The states.
const (
	StateReady    State = "ready"
	StatePending  State = "pending"  // awaiting approval: see Item.Decision
	StateDisabled State = "disabled" // switched off by the user
	StateRejected State = "rejected" // unusable: see Item.Err
	// StateQuarantined is a plugin that failed repeatedly: its gates deny, its hooks with onError stop end turns, and the rest of its
	// runtime is not available.
	StateQuarantined State = "quarantined"
)

// place is the origin of a plugin. Of two plugins with the same name, the one with the lower value is used.
type place int

const (
	placeFlag    place = iota // named on the command line
	placeUser                 // in the user's directory or configuration
	placeProject              // part of the project
)

// Item is a discovered plugin.
type Item struct {
	// Name is the name in the manifest, or, until that is read, the name of the file.
	Name    string
	Carrier sdk.Carrier
	Path    string // its location
	From    string // human-readable: the entry that names it, or the directory it was found in
	Project bool   // it is part of the project
	State   State
	Err     error  // reason for the rejection
	Reason  string // reason why it is disabled or in quarantine
	// Request lists the plugin's requests; Decision is the user's answer.
	Request  trust.Request
	Decision trust.Decision
	Digest   trust.Digest
	Grants   []sdk.Capability // of an approved item
	// Manifest is the plugin's description; empty while unknown. Use Text to show its texts.
	Manifest sdk.Description
	Warnings []string // about the content and the grants
	// Ignored are options that the configuration has and the plugin does not get.
	Ignored []string
	// Plugin is the part that the host runs; nil if no part of the item runs, or only its skills, servers and command hooks.
	Plugin sdk.Plugin

	Options  json.RawMessage // the user's options for the plugin; empty without any
	Required bool            // the configuration forbids a run without the plugin

	source    string // Path, links resolved
	place     place
	order     int
	entry     *Entry            // nil without an entry
	pkg       *manifest.Package // nil of a single file
	sealed    *trust.Sealed     // nil until approved or installed
	installed *Installed        // nil unless a lock file names it
}

// Trusted returns the item in the form that package trust uses.
func (i *Item) Trusted() trust.Item {
	return trust.Item{Kind: trust.KindPlugin, Name: i.Name, Source: i.source, Digest: i.Digest, Version: i.Manifest.Version, Request: i.Request}
}

// Flagged reports whether the command line names the plugin. Other commands may not find it without its path.
func (i *Item) Flagged() bool { return i.entry != nil && i.entry.Flag }

// LeftOut returns the parts that are not used, with the reasons: parts without an equivalent, damaged parts, and parts that are not in
// the sealed copy.
func (i *Item) LeftOut() []string {
	if i.sealed == nil {
		return slices.Concat(i.Ignored, i.Warnings)
	}
	return slices.Concat(i.Ignored, i.Warnings, i.sealed.LeftOut())
}

// Root returns the directory of the sealed copy; before approval, the plugin's own directory.
func (i *Item) Root() string {
	if i.sealed == nil {
		return i.Path
	}
	return i.sealed.Root
}

// Source returns the origin of the plugin: the reference of an installed plugin, else its path.
func (i *Item) Source() string {
	if i.installed != nil {
		return i.installed.Ref
	}
	return i.Path
}

// Servers returns the names of the MCP servers of a package, sorted.
func (i *Item) Servers() []string {
	if i.pkg == nil {
		return nil
	}
	return sortedKeys(i.pkg.Servers)
}

func (i *Item) reject(err error) { i.State, i.Err = StateRejected, err }

func (i *Item) usable() bool { return i.State != StateRejected }

// Loaded is the result of Load.
type Loaded struct {
	Items  []*Item             // in the order of their hooks
	Skills []sdk.PackagedSkill // of approved packages
	// Servers are the MCP servers, HookFiles the files with command hooks of approved packages.
	Servers   []Server
	HookFiles []HookFile
	Warnings  []string
}

// Server is an MCP server of an approved package.
type Server struct {
	Plugin string // the package's name
	Name   string // in its mcp.json
	Root   string // the sealed copy of the package
	Data   string // the plugin's own directory
	Entry  manifest.Server
	// Granted are variables of the user's environment that the user granted the package.
	Granted map[string]string
}

// Resolve creates the plugin's own directory and returns the server ready to start: variables replaced, paths absolute and checked.
func (s Server) Resolve() (manifest.Server, error) {
	if err := os.MkdirAll(s.Data, 0o700); err != nil {
		return manifest.Server{}, err
	}
	return s.Entry.Expand(s.Root, s.Data)
}

// HookFile is a file with command hooks of an approved package.
type HookFile struct {
	Plugin  string
	Path    string // in the sealed copy
	Content []byte // the hooks
	Root    string // the sealed copy, PLUGIN_ROOT of the commands
	Data    string // the plugin's own directory, PLUGIN_DATA of the commands
}

// owner identifies the plugin at this path; another plugin with the same name has another owner.
func (i *Item) owner() string {
	return fmt.Sprintf("%s-%.4x", i.Name, sha256.Sum256([]byte(i.source)))
}

// dataDir returns a plugin's own directory.
func (l *Loader) dataDir(i *Item) string { return filepath.Join(l.pluginDir(), "data", i.owner()) }

// ErrNotFetched is returned for an installed plugin whose content is not on this machine.
var ErrNotFetched = errors.New("not fetched")

// Installed is a plugin of a lock file. Its content is in the vault, by its digest.
type Installed struct {
	pins.Plugin
	Lock    string // absolute path of the lock file
	Project bool   // the lock file is the project's
}

// Source identifies the plugin for approvals: they are valid for one lock file.
func (in *Installed) Source() string { return in.Lock + "#" + in.Name }

// LockFiles returns the paths of the user's lock file and of the project's; empty without a directory. If the project is the user's
// configuration directory, the file is the user's.
func LockFiles(p sdk.Project) (user, project string) {
	if p.ConfigDir != "" {
		user = filepath.Join(p.ConfigDir, pins.Name)
	}
	if p.Worktree != "" && p.Worktree != projectfs.Real(p.ConfigDir) {
		project = filepath.Join(p.Worktree, pins.Name)
	}
	return user, project
}

// readInstalled reads the lock files, the user's first. Errors wrap pins.ErrFile.
func (l *Loader) readInstalled() ([]Installed, error) {
	var out []Installed
	user, project := LockFiles(l.opts.Project)
	for _, path := range []string{user, project} { // no file has the empty path
		f, err := l.History().Read(path)
		if err != nil {
			return nil, err
		}
		for _, p := range f.Plugins {
			staged := func(s Installed) bool { return s.Lock == path && s.Name == p.Name }
			if !slices.ContainsFunc(l.opts.Staged, staged) {
				out = append(out, Installed{Plugin: p, Lock: path, Project: path == project})
			}
		}
	}
	return append(out, l.opts.Staged...), nil
}

// addInstalled adds the plugins of the lock files.
func (l *Loader) addInstalled(out *Loaded, list []Installed) {
	for n := range list {
		in := &list[n]
		i := &Item{
			Name: in.Name, Path: in.Ref, From: in.Lock, Project: in.Project, Digest: in.Digest, source: in.Source(), installed: in,
			place: placeUser, order: len(l.opts.Entries),
		}
		if in.Project {
			i.place = placeProject
		}
		out.Items = append(out.Items, i)
	}
}

// Open returns the content of an installed plugin. It returns fs.ErrNotExist if the content is missing, or if the policy requires a signature
// that this machine has not checked: a project's file only claims a signature, and the content may come from elsewhere.
func (in *Installed) Open(ctx context.Context, v *trust.Vault, policy signature.Policy, home string) (*trust.Sealed, error) {
	if in.Digest == "" { // each machine makes the content itself, and this one has not done so yet
		return nil, fs.ErrNotExist
	}
	s, err := v.Open(ctx, in.Digest)
	if err != nil || !in.Project {
		return s, err
	}
	r, err := in.Resolved(filepath.Dir(in.Lock), home)
	if err == nil && policy.Requires(r) && policy.Accepts(r, s.Signer()) != nil {
		err = fs.ErrNotExist
	}
	return s, err
}

// openInstalled finds the content of an installed item. Nothing is fetched.
func (l *Loader) openInstalled(ctx context.Context, i *Item) error {
	s, err := i.installed.Open(ctx, l.vault, l.opts.Policy, l.opts.Project.Home)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s of %s; run: tenon plugin sync", ErrNotFetched, i.Path, i.From)
	case errors.Is(err, trust.ErrChanged):
		return fmt.Errorf("%w; run: tenon plugin sync", err)
	}
	i.sealed = s
	return err
}

// Stored returns the directory in which an installed plugin keeps its data, which may not exist, and the name under which its sign-ins
// are stored. A later plugin with this name in the lock file gets both.
func (l *Loader) Stored(in *Installed) (dir, owner string) {
	i := &Item{Name: in.Name, source: in.Source()}
	return l.dataDir(i), i.owner()
}

// Vault returns the sealed copies, in which installed plugins are.
func (l *Loader) Vault() *trust.Vault { return l.vault }

// History returns the lock files' earlier states.
func (l *Loader) History() pins.History { return pins.History{Dir: l.pluginDir()} }

// Pin returns the lock file's entry of an installed item; nil for others.
func (i *Item) Pin() *Installed { return i.installed }

// NameOf returns the name of a plugin in the vault: the name in its manifest or, for a bare module or program, a
// name derived from its file.
func NameOf(s *trust.Sealed, file string) (string, error) {
	if s.File() != "" {
		return nameOfFile(file), nil
	}
	p, err := manifest.ReadNamed(s.Root, nameOfFile(file))
	if err != nil {
		return "", err
	}
	return p.Description.Name, nil
}
