package config

import (
	"context"
	_ "embed"
	"slices"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/internal/secret"
	"github.com/tenonhq/tenon/sdk"
)

// Options are the places that Load reads. All paths are absolute.
type Options struct {
	Directory string // the directory in which tenon was started
	// Worktree is the topmost directory with project files. If it is empty or not above Directory, only Directory is read.
	Worktree  string
	Home      string   // the directory for ~/; empty: ~/ is an error
	ConfigDir string   // the user's configuration directory of tenon; empty: none
	Environ   []string // in the form of os.Environ
	// Managed is the path of an administrator's file, the last layer; the file may be missing. Empty: none.
	Managed string
	// Pending holds the contents of files that are about to be written, by path. They replace the contents on the disk.
	Pending map[string][]byte
	// MaxProblems is the maximum number of problems in an error; 0 means 50.
	MaxProblems int
}

// Loaded is the merged configuration with its origins.
type Loaded struct {
	// Config holds the merged values. Older forms are converted: tools to permission rules, npm to protocol and api to options.baseURL. Paths of
	// plugins that began with ./, ../ or ~/ are absolute.
	Config *sdk.Config
	// Origins holds the origin of each value by its key. The origin of a list is the last layer that set it; permission rules also have their
	// own.
	Origins map[string]Origin
	// Files are the absolute paths of the files that were read, in the order of their layers.
	Files []string
	// ProjectFiles holds the SHA-256 of the parsed bytes of those Files that belong to the repository, in hexadecimal. If a file refers to others
	// by {file:p}, it covers their text.
	ProjectFiles map[string]string
	// Managed holds the permission rules of the administrator's file, which Config includes.
	Managed sdk.PermissionRules
	// Warnings are about values without effect, or with another effect than intended.
	Warnings []Problem
	// Secrets are the values that must not be shown, longest first. UserSecrets are those of them that are not text of the repository. Only these
	// are masked on the terminal and in other values: otherwise a repository could hide the things it asks the user to approve, or words of the
	// user's prompts.
	Secrets, UserSecrets []string
	// Foreign holds the providers whose address a file of the project set, each with the place. Keys from the environment must not be sent
	// there.
	Foreign map[string]string
	// Own holds the values of the user's own layers for providers, models, agents and commands; its other fields are zero. Nil if no file of
	// the project sets any of those.
	Own *sdk.Config

	plugins map[string]Origin
	hooks   []HookBlock
	taken   []taken
}

// taken is a variable of the environment whose value a file uses.
type taken struct{ file, key, variable string }

// Load reads all layers. All problems in them are returned as one *Error, which wraps ErrConfig; other errors are
// those of ctx.
func Load(ctx context.Context, o Options) (*Loaded, error) {
	l := &loader{
		opts: o, env: environment(o.Environ), projectFiles: map[string]string{}, borrowed: map[string]bool{},
		inside: projectfs.New([]string{o.Worktree, o.Directory}, []string{o.ConfigDir}), report: checked.Report{Most: o.MaxProblems},
	}
	sources, err := l.sources(ctx)
	if err != nil {
		return nil, err
	}
	m := newMerger()
	if err := m.defaults(); err != nil {
		return nil, err
	}
	var managed sdk.PermissionRules
	var own []tree     // the receivers in the user's layers
	byProject := false // a file of the project sets receivers, too
	for _, s := range sources {
		layer, origins := l.layer(s)
		if s.layer == LayerManaged {
			managed, _ = layer["permission"].(sdk.PermissionRules)
		}
		if chosen := receivers(layer); s.layer == LayerProject {
			byProject = byProject || len(chosen) > 0
		} else {
			own = append(own, chosen)
		}
		if err := m.add(layer, origins); err != nil {
			return nil, err
		}
	}
	cfg, err := m.config()
	var foreign map[string]string
	if err == nil {
		l.verify(cfg, m.origins)
		l.argumentSecrets(cfg, m.origins)
		foreign = l.foreign(cfg, m.origins)
	}
	if problems := l.report.Err(ErrConfig); problems != nil {
		return nil, problems
	}
	if err != nil {
		return nil, err
	}
	loaded := &Loaded{
		Config: cfg, Origins: m.origins, Files: l.files, Warnings: l.report.Warnings, Foreign: foreign,
		UserSecrets: sortedSecrets(l.secrets), Secrets: sortedSecrets(slices.Concat(l.secrets, l.written)), ProjectFiles: l.projectFiles, Managed: managed, plugins: m.plugins, hooks: m.hooks, taken: l.taken,
	}
	if byProject {
		m = newMerger()
		for _, layer := range own {
			if err := m.add(layer, nil); err != nil {
				return nil, err
			}
		}
		loaded.Own, err = m.config()
	}
	return loaded, err
}

// Origin returns the place that set the value of key ("/home/a/tenon.json:12", "env TENON_MODEL", "default"), or "" if no layer did.
func (l *Loaded) Origin(key string) string { return l.Origins[key].String() }

// Mask returns text with the UserSecrets replaced.
func (l *Loaded) Mask(text string) string { return secret.Hide(text, l.UserSecrets) }

// loader holds the state that all sources share.
type loader struct {
	opts         Options
	env          map[string]string
	report       checked.Report
	files        []string
	projectFiles map[string]string // as Loaded.ProjectFiles
	inside       projectfs.FS      // opens files of the project

	secrets []string
	written []string // secrets that are text of the repository
	// borrowed holds the keys whose values a file of the project took from the environment or another file. It is true if the value is more than
	// one variable.
	borrowed map[string]bool
	taken    []taken
}

// Schema is a JSON schema of tenon.json, for editors. TestSchema writes it from the types and comments of package sdk.
//
//go:embed schema.json
var Schema string
