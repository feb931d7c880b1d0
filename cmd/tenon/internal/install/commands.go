// Package install contains the commands that install, update and remove plugins.
package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/extensions"
	"github.com/tenonhq/tenon/cmd/tenon/internal/manage"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/plugins"
	"github.com/tenonhq/tenon/plugins/archive"
	"github.com/tenonhq/tenon/plugins/install"
	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/plugins/marketplace"
	"github.com/tenonhq/tenon/plugins/pins"
	"github.com/tenonhq/tenon/plugins/signature"
	"github.com/tenonhq/tenon/plugins/source"
	"github.com/tenonhq/tenon/plugins/source/oci"
	"github.com/tenonhq/tenon/sdk"
)

// group is the commands with their flags.
type group struct {
	*cli.App
	yes, project, frozen, offline, dry, purge bool
	without, platforms                        []string
	key, output                               string
}

// Commands returns the commands, which belong to "tenon plugin".
func Commands(a *cli.App) cli.Commands {
	g := &group{App: a}
	return cli.Commands{
		"plugin install":  {Run: g.with((*job).install), Flags: cli.Flags{"yes": &g.yes, "without": &g.without, "key": &g.key, "project": &g.project}},
		"plugin sync":     {Run: g.with((*job).sync), Flags: cli.Flags{"yes": &g.yes, "frozen": &g.frozen, "offline": &g.offline}},
		"plugin update":   {Run: g.with((*job).update), Flags: cli.Flags{"yes": &g.yes, "dry-run": &g.dry}},
		"plugin outdated": {Run: g.with((*job).outdated), Flags: cli.Flags{"yes": &g.yes}},
		"plugin rollback": {Run: g.with((*job).rollback), Flags: cli.Flags{"yes": &g.yes, "project": &g.project}},
		"plugin remove":   {Run: g.with((*job).remove), Flags: cli.Flags{"purge": &g.purge, "project": &g.project}},
		"plugin verify":   {Run: g.with((*job).verify)},
		"plugin why":      {Run: g.with((*job).why)},
		"plugin search":   {Run: g.with((*job).searchMarkets)},
		"plugin bisect":   {Run: g.bisect},

		"plugin lock":   {Run: g.with((*job).lock), Flags: cli.Flags{"platform": &g.platforms, "yes": &g.yes, "project": &g.project}},
		"plugin vendor": {Run: g.with((*job).vendor), Flags: cli.Flags{"yes": &g.yes}},
		"plugin pack":   {Run: g.pack, Flags: cli.Flags{"output": &g.output}},
		"plugin push":   {Run: g.OnPlace(g.push)},
		"plugin sign":   {Run: g.sign, Flags: cli.Flags{"key": &g.key}},

		"plugin marketplace add":    {Run: g.with((*job).addMarket)},
		"plugin marketplace list":   {Run: g.with((*job).listMarkets)},
		"plugin marketplace update": {Run: g.with((*job).updateMarkets)},
		"plugin marketplace remove": {Run: g.with((*job).removeMarkets)},
	}
}

// job is one run of a command.
type job struct {
	*group
	workspace *cli.Workspace
	loader    *plugins.Loader
	set       *extensions.Set
	installer *install.Installer
	target    install.Target
}

// with returns the work of a command: it runs f with the user's lock file or, with --project, with the project's.
func (g *group) with(f func(*job, context.Context, []string) error) cli.Work {
	return func(cmd *cobra.Command, args []string) error {
		return g.WithExtensions(cmd.Context(), nil, func(w *cli.Workspace, s *extensions.Set) error {
			j, err := g.job(w, s)
			if err == nil {
				err = f(j, cmd.Context(), args)
				j.loader.Save()
				g.Screen.BottomLines(nil)
			}
			return remedied(err)
		})
	}
}

func (g *group) job(w *cli.Workspace, s *extensions.Set) (*job, error) {
	j := &job{group: g, workspace: w, loader: s.Loader, set: s}
	data, tree := filepath.Join(w.Project.DataDir, "plugins"), w.Project.Worktree
	if err := withoutPrograms(w); err != nil {
		return nil, err
	}
	executable, err := os.Executable()
	if err != nil {
		return nil, err
	}
	policy, err := signature.New(w.Loaded.Config.PluginPolicy, signature.Sigstore{Path: signature.FindSigstore(executable, tree)})
	if err != nil {
		return nil, err
	}
	fetcher := &source.Fetcher{
		Cache: filepath.Join(w.Project.CacheDir, "downloads"), Environ: g.Env, Project: tree, Progress: progress(g.Screen), Offline: g.offline,
		Registry: g.Env.Lookup("NPM_CONFIG_REGISTRY"), Token: g.Env.Lookup("NPM_TOKEN"), MCPRegistry: w.Loaded.Config.MCPRegistry,
		UserConfig: source.UserNPMRC(w.Project.Home, cmp.Or(g.Env.Lookup("NPM_CONFIG_USERCONFIG"), g.Env.Lookup("npm_config_userconfig")), tree, g.Env),
	}
	j.installer = &install.Installer{
		Vault: j.loader.Vault(), History: j.loader.History(), Home: w.Project.Home, Temp: filepath.Join(data, "unpacked"), Fetcher: fetcher, Policy: policy,
		Markets: marketplace.Store{
			File: filepath.Join(w.Project.ConfigDir, marketplace.FileName), Dir: filepath.Join(data, "marketplaces"), Home: w.Project.Home, Fetcher: fetcher,
			Policy: policy,
		},
	}
	return j, j.use(g.project)
}

// withoutPrograms removes the project's directories from PATH. Libraries start programs, too: that for OCI starts the credential helpers of Docker,
// which start others.
func withoutPrograms(w *cli.Workspace) error {
	return os.Setenv("PATH", projectfs.Path(os.Getenv("PATH"), w.Project.Worktree))
}

// use selects the lock file of the user or of the project, whose addresses must not lead into the user's network. It returns an error if there is
// none.
func (j *job) use(project bool) error {
	user, repository := plugins.LockFiles(j.workspace.Project)
	j.installer.Fetcher.Guarded = project
	if j.target = (install.Target{Path: user}); project {
		j.target = install.Target{Path: repository, Project: true}
	}
	if j.target.Path == "" {
		return cli.UsageError("run it in a project; here, plugins are your own", "%s is not a project", j.workspace.Project.Worktree)
	}
	return nil
}

// vendorDir returns the directory next to the lock file that holds copies of the pinned content.
func (j *job) vendorDir() string {
	return filepath.Join(filepath.Dir(j.target.Path), filepath.FromSlash(install.VendorDir))
}

// both runs f for the lock file of the user and, if there is one, that of the project, with the content of the file. If f fails for one, it
// still runs for the other. Plugins with these names must be in one of them.
func (j *job) both(names []string, f func(pinned *pins.File) error) error {
	var problems []error
	found := map[string]bool{}
	for _, project := range []bool{false, true} {
		if j.use(project) != nil {
			continue
		}
		if project {
			j.installer.Vendor, j.installer.Fetcher.Seed = j.vendorDir(), j.vendorDir()
		}
		pinned, err := j.pinned()
		if err == nil {
			for _, p := range pinned.Plugins {
				found[p.Name] = true
			}
			err = f(pinned)
		}
		problems = append(problems, remedied(err))
	}
	at := slices.IndexFunc(names, func(name string) bool { return !found[name] })
	if err := cli.Join(problems...); err != nil || at < 0 {
		return err
	}
	return cli.UsageError("tenon plugin list shows all plugins; one in a plugin directory is not installed: tenon plugin info describes it", "%q is not installed", names[at])
}

// asPinned converts names of plugins to the names in lock files, each once. A module has the name of its file there, and the name in its
// description elsewhere.
func (j *job) asPinned(names []string) []string {
	out := slices.Clone(names)
	for n, name := range names {
		for _, c := range j.set.Candidates {
			if c.Item == nil || c.Item.Pin() == nil {
				continue
			}
			pinned := c.Item.Pin().Name
			if c.Name == name {
				out[n] = pinned
			}
			if pinned == name {
				out[n] = name
				break
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// pinned reads the lock file.
func (j *job) pinned() (*pins.File, error) { return j.loader.History().Read(j.target.Path) }

// pin adds a plugin to the lock file, or replaces the plugin with its name.
func (j *job) pin(ctx context.Context, p pins.Plugin) error {
	return j.loader.History().Change(ctx, j.target.Path, func(f *pins.File) (*pins.File, error) { return f.With(p), nil })
}

// remedied adds the remedy to errors of sources.
func remedied(err error) error {
	const denied, unsafe = "nothing was installed; tenon config show prints plugin_policy", "nothing was installed; report it to its publisher"
	err = cli.Remedies{
		{marketplace.ErrList, cli.ExitTurn, "correct the file or its permissions as the error says, or delete it and add your marketplaces again"},
		{marketplace.ErrAddress, cli.ExitUsage, "write owner/repo, the URL of a repository or of a marketplace.json, or ./directory"},
		{source.ErrNPMRC, cli.ExitConfig, "correct the file or NPM_CONFIG_USERCONFIG, which selects another one"},
		{marketplace.ErrSource, cli.ExitTurn, "nothing was installed; if its marketplace is wrong, report it to its publisher"},
		{source.ErrRef, cli.ExitUsage, "tenon plugin install --help lists the forms of references"},
		{source.ErrAddress, cli.ExitTurn, "nothing was installed; if you trust the address, name it on the command line yourself, without --project"},
		{install.ErrOutside, cli.ExitTurn, "use a path inside the project, without links; or omit --project to install the plugin for yourself"},
		{install.ErrRenamed, cli.ExitTurn, "remove it and install it again if that is right"},
		{install.ErrMoved, cli.ExitTurn, "check NPM_CONFIG_REGISTRY and your .npmrc; if the new server is right, install it again: tenon plugin install REFERENCE, with --project for the project's"},
		{source.ErrServer, cli.ExitTurn, "tenon mcp add adds servers with other settings"},
		{source.ErrDependencies, cli.ExitTurn, "its publisher can bundle them into one file, or list them in bundleDependencies"},
		{source.ErrRegistry, cli.ExitTurn, "nothing was installed; check the registry that NPM_CONFIG_REGISTRY or your .npmrc names, or report the package to its publisher"},
		{source.ErrMismatch, cli.ExitTurn, "do not use it; if its publisher replaced the content on purpose: tenon plugin update, or install it with the new digest if the reference contains one"},
		{signature.ErrNoVerifier, cli.ExitRefused, "install " + signature.Program + " of the same release next to tenon, or into a directory of PATH"},
		{signature.ErrDenied, cli.ExitRefused, denied},
		{signature.ErrSignature, cli.ExitRefused, "nothing was installed; the key is that of --key, of the lock file or of plugin_policy, which tenon config show prints"},
		{marketplace.ErrNotFound, cli.ExitUsage, "tenon plugin search and tenon plugin marketplace list show the known ones; tenon plugin marketplace add ADDRESS adds a marketplace"},
		{marketplace.ErrCatalogue, cli.ExitTurn, "check the address: a marketplace has a marketplace.json in .claude-plugin, .agents/plugins, or at its root"},
		{marketplace.ErrStale, cli.ExitTurn, "run: tenon plugin marketplace update"},
		{marketplace.ErrTaken, cli.ExitTurn, "remove the other marketplace first: tenon plugin marketplace remove NAME"},
		{marketplace.ErrReserved, cli.ExitRefused, "do not use it; if the catalogue is yours, rename it: the field name of its marketplace.json"},
		{manifest.ErrNone, cli.ExitTurn, "nothing was installed; check that the reference leads to a plugin; for an MCP server in an npm package: tenon mcp add NAME -- npx -y PACKAGE"},
		{manifest.ErrNotBuilt, cli.ExitTurn, "nothing was installed; if this is source, run tenon plugin build DIRECTORY in a copy that you trust, and install the directory"},
		{manifest.ErrNoEquivalent, cli.ExitTurn, "nothing was installed; it is only for another program"},
		{marketplace.ErrConflict, cli.ExitTurn, unsafe},
		{sdk.ErrManifest, cli.ExitTurn, unsafe},
		{archive.ErrUnsafe, cli.ExitTurn, unsafe},
		{source.ErrTooLarge, cli.ExitTurn, unsafe},
		{oci.ErrArtifact, cli.ExitTurn, "check that the reference leads to one plugin for this platform; tenon plugin push stores plugins"},
		{source.ErrOffline, cli.ExitTurn, "run it again without --offline"},
	}.Remedied(err)
	if _, fixed := errors.AsType[*cli.Failure](err); !fixed && source.OfServer(err) {
		return cli.Fail(cli.ExitTurn, err, "check the reference, the network, and your access: docker login is for oci, NPM_TOKEN or your .npmrc for npm, a credential helper or an SSH key for git (ssh-add, if the key has a passphrase)")
	}
	return err
}

// progress returns a function that shows the progress of downloads on a terminal.
func progress(screen *terminal.Screen) func(string, int64, int64) {
	if !screen.Live {
		return nil
	}
	return func(name string, have, want int64) {
		line := "  " + terminal.OneLine(name)
		if have > 0 {
			line += fmt.Sprintf(": %d KiB", have>>10)
		}
		if want > 0 {
			line += fmt.Sprintf(" of %d KiB", want>>10)
		}
		screen.BottomLines([]string{line})
	}
}

// install fetches the plugins of the references, and asks about them.
func (j *job) install(ctx context.Context, refs []string) (err error) {
	if j.key != "" {
		if j.installer.Key, err = signature.ParseKey(j.key); err != nil {
			return cli.UsageError("minisign prints the public key; it is the second line of minisign.pub", "--key: %w", err)
		}
	}
	t := j.target
	if t.Base, err = j.Directory(); err != nil { // paths on the command line start at the working directory
		return err
	}
	var staged []*plugins.Installed
	for _, ref := range refs {
		s, err := j.installer.Stage(ctx, t, ref, nil)
		if errors.Is(err, fs.ErrNotExist) && !source.IsRef(ref) {
			return cli.UsageError(cli.CheckPath, "%w", err)
		}
		if err != nil {
			return err
		}
		staged = append(staged, s)
	}
	for _, s := range staged {
		if err := j.adopt(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// adopt shows a staged plugin, asks about it, and pins it if it was approved.
func (j *job) adopt(ctx context.Context, s *plugins.Installed) error {
	f, err := j.pinned()
	if err != nil {
		return err
	}
	if old := f.Find(s.Name); old != nil && old.Ref != s.Ref {
		j.Say("this replaces the installed plugin %s from %s (%s)", old.Name, old.Ref, install.Describe(*old))
	}
	if err := j.approve(ctx, s); err != nil {
		return err
	}
	if err := j.pin(ctx, s.Plugin); err != nil {
		return err
	}
	j.Say("installed %s (%s)", s.Name, install.Describe(s.Plugin))
	return nil
}

// approve shows a staged plugin and asks the user.
func (j *job) approve(ctx context.Context, s *plugins.Installed) error {
	signer := cmp.Or(s.Signer, "not checked: no rule of plugin_policy names one for this source")
	if s.Signer != "" && s.Project {
		signer += " (recorded in the project's file)"
	}
	definition := ""
	if len(s.Definition) > 0 {
		definition = "from the marketplace"
	}
	j.Say("%s", s.Name)
	for _, field := range [][2]string{
		{"source", s.Ref}, {"pinned", install.Describe(s.Plugin)}, {"fetched from", s.Pin.Source}, {"signer", signer}, {"definition", definition}, {"fetched from", s.URL},
	} {
		if field[1] != "" {
			j.Say("  %-14s %s", field[0], field[1])
		}
	}
	set, err := j.workspace.Staged(ctx, []plugins.Installed{*s})
	if err != nil {
		return err
	}
	switch c := find(set, s); {
	case c == nil:
		err = fmt.Errorf("%s was not found after it was unpacked", s.Name)
	case c.State == plugins.StateRejected:
		if err = remedied(fmt.Errorf("%s: %w", c.Name, c.Err)); !errors.As(err, new(*cli.Failure)) {
			err = cli.Fail(cli.ExitTurn, err, "nothing was installed")
		}
	case c.State == plugins.StateDisabled:
		j.Say("it stays disabled; enable it with tenon plugin enable %s", c.Argument())
	case c.State == plugins.StatePending, len(j.without) > 0: // the question about a package covers its servers and hooks
		err = manage.Approve(ctx, j.App, set, c, j.yes, j.without)
	}
	return errors.Join(err, set.Discard(ctx))
}

// find returns the candidate of an installed plugin, or the candidate with the same content that replaces it; nil without one.
func find(set *extensions.Set, in *plugins.Installed) *extensions.Candidate {
	var same *extensions.Candidate
	for _, c := range set.Candidates {
		if c.Item == nil {
			continue
		}
		if p := c.Item.Pin(); p != nil && p.Source() == in.Source() {
			return c
		}
		if c.Name == in.Name && c.Item.Digest == in.Digest {
			same = c
		}
	}
	return same
}
