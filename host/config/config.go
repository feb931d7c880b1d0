package config

import (
	"context"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/internal/secret"
	"github.com/tenonhq/tenon/sdk"
)

// Options say where to look. All paths are absolute.
type Options struct {
	Directory string // where tenon was started
	// Worktree is how far up project files are looked for. Empty, or not above Directory: Directory alone.
	Worktree  string
	Home      string   // what ~/ stands for; empty: ~/ is an error
	ConfigDir string   // the user's configuration directory of tenon; empty: none
	Environ   []string // "NAME=value", as os.Environ returns it
	// Managed is an administrator's file, the last layer of all; it need not be there. Empty: none.
	Managed string
	// Pending holds the contents of files that are about to be written, by path. They are used in place of the files' own.
	Pending map[string][]byte
}

// Loaded is the merged configuration and what is known about it.
type Loaded struct {
	// Config holds the merged values. Older forms are gone from it: tools are permission rules, maxSteps is
	// steps, npm is protocol and api is options.baseURL. Paths of plugins that began with ./, ../ or ~/ are absolute.
	Config *sdk.Config
	// Origins says for each value, by its key, where it was set. Lists have one origin: where the last layer
	// wrote them; permission rules carry their own in addition.
	Origins map[string]Origin
	// Files are the absolute paths that were read, in the order of their layers.
	Files []string
	// ProjectFiles holds the SHA-256 of each of Files that came with the repository, in hexadecimal digits, of the bytes that were parsed.
	ProjectFiles map[string]string
	// Managed are the permission rules of the administrator's file. They are in Config, too.
	Managed sdk.PermissionRules
	// Warnings are things that have no effect, or not the one that was meant.
	Warnings []Problem
	// Secrets are the values that must not be shown, longest first.
	Secrets []string
	// Foreign names the providers whose address a file of the project chose, with the place. Keys from the environment must not
	// be sent there.
	Foreign map[string]string
	// Own is what the user's own layers alone say about providers, models, agents and commands; its other fields are zero. Nil if
	// no file of the project says anything about those.
	Own *sdk.Config

	plugins map[string]Origin
	hooks   []HookBlock
}

// Load reads all layers. All problems in them are returned as one *Error, which wraps ErrConfig; other errors are
// those of ctx.
func Load(ctx context.Context, o Options) (*Loaded, error) {
	l := newLoader(o)
	sources, err := l.sources(ctx)
	if err != nil {
		return nil, err
	}
	m := newMerger()
	if err := m.defaults(); err != nil {
		return nil, err
	}
	var managed sdk.PermissionRules
	var own []tree     // what the user's layers say about receivers
	byProject := false // a file of the project says something about them, too
	for _, s := range sources {
		c := newChecker(l, s)
		layer := c.layer()
		if s.layer == LayerManaged {
			managed, _ = layer["permission"].(sdk.PermissionRules)
		}
		if chosen := receivers(layer); s.layer == LayerProject {
			byProject = byProject || len(chosen) > 0
		} else {
			own = append(own, chosen)
		}
		if err := m.add(layer, c.origins); err != nil {
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
		Config: cfg, Origins: m.origins, Files: l.files, Warnings: l.report.Warnings, Secrets: l.sortedSecrets(), Foreign: foreign,
		ProjectFiles: l.projectFiles, Managed: managed, plugins: m.plugins, hooks: m.hooks,
	}
	if byProject {
		loaded.Own, err = merged(own)
	}
	return loaded, err
}

// Origin returns where the value of key was set ("/home/a/tenon.json:12", "env TENON_MODEL",
// "default"), or "" if no layer did.
func (l *Loaded) Origin(key string) string {
	if o, ok := l.Origins[key]; ok {
		return o.String()
	}
	return ""
}

// Mask returns text with every secret of the configuration replaced.
func (l *Loaded) Mask(text string) string {
	return secret.Hide(text, l.Secrets)
}

// loader holds what reading all sources shares.
type loader struct {
	opts         Options
	env          map[string]string
	report       checked.Report
	files        []string
	projectFiles map[string]string // as Loaded.ProjectFiles
	inside       projectfs.FS      // opens files of the project

	secrets []string
	// borrowed holds the keys whose values a file of the project took from the environment or another file, and whether there is more
	// in the value than one variable.
	borrowed map[string]bool
}

func newLoader(o Options) *loader {
	return &loader{
		opts: o, env: environment(o.Environ), projectFiles: map[string]string{}, borrowed: map[string]bool{},
		inside: projectfs.New([]string{o.Worktree, o.Directory}, []string{o.ConfigDir}),
	}
}
