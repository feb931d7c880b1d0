// Package install contains the commands that install, update and remove plugins.
package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/extensions"
	"github.com/tenonhq/tenon/cmd/tenon/internal/manage"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/plugins"
	"github.com/tenonhq/tenon/plugins/archive"
	"github.com/tenonhq/tenon/plugins/install"
	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/plugins/marketplace"
	"github.com/tenonhq/tenon/plugins/pins"
	"github.com/tenonhq/tenon/plugins/signature"
	"github.com/tenonhq/tenon/plugins/source"
	"github.com/tenonhq/tenon/sdk"
)

// Commands returns the commands, which belong to "tenon plugin".
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{
		installCommand(a), syncCommand(a), updateCommand(a), outdatedCommand(a), rollbackCommand(a), removeCommand(a), verifyCommand(a), whyCommand(a),
		marketplaceCommand(a), searchCommand(a),
		lockCommand(a), vendorCommand(a), packCommand(a), pushCommand(a), signCommand(a), bisectCommand(a),
	}
}

// job is one run of a command.
type job struct {
	app       *cli.App
	workspace *cli.Workspace
	loader    *plugins.Loader
	set       *extensions.Set
	installer *install.Installer
	target    install.Target
}

// with runs f with the lock file of the user, or of the project.
func with(ctx context.Context, a *cli.App, project bool, f func(j *job) error) error {
	return a.WithExtensions(ctx, nil, func(w *cli.Workspace, s *extensions.Set) error {
		user, repository := plugins.LockFiles(w.Project)
		j := &job{app: a, workspace: w, loader: s.Loader(), set: s, target: install.Target{Path: user}}
		if project {
			j.target = install.Target{Path: repository, Project: true}
		}
		data, tree := filepath.Join(w.Project.DataDir, "plugins"), cmp.Or(w.Project.Worktree, w.Project.Directory)
		j.installer = &install.Installer{
			Vault: j.loader.Vault(), History: j.loader.History(), Home: w.Project.Home, Temp: filepath.Join(data, "unpacked"),
			Fetcher: &source.Fetcher{
				Cache: filepath.Join(w.Project.CacheDir, "downloads"), Environ: a.Env, Project: tree, Progress: progress(a.Screen),
				Registry: a.Env.Lookup("NPM_CONFIG_REGISTRY"), Token: a.Env.Lookup("NPM_TOKEN"),
				MCPRegistry: w.Loaded.Config.MCPRegistry,
			},
		}
		executable, err := os.Executable()
		if err != nil {
			return err
		}
		j.installer.Policy, err = signature.New(w.Loaded.Config.PluginPolicy, signature.Sigstore{Path: signature.FindSigstore(executable, tree)})
		if err != nil {
			return err
		}
		j.installer.Markets = marketplace.Store{
			File: filepath.Join(w.Project.ConfigDir, marketplace.FileName), Dir: filepath.Join(data, "marketplaces"), Home: w.Project.Home, Fetcher: j.installer.Fetcher,
			Policy: j.installer.Policy,
		}
		err = f(j)
		a.Screen.BottomLines(nil)
		return remedied(err)
	})
}

// pinned reads the lock file.
func (j *job) pinned() (*pins.File, error) { return j.loader.History().Read(j.target.Path) }

// pin adds a plugin to the lock file, or replaces the one of its name.
func (j *job) pin(ctx context.Context, p pins.Plugin) error {
	return j.loader.History().Change(ctx, j.target.Path, func(f *pins.File) (*pins.File, error) { return f.With(p), nil })
}

// body returns what a command runs: f, with the lock file of the project where project points to true, else of the user.
func body(a *cli.App, project *bool, f func(context.Context, *job, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return with(cmd.Context(), a, project != nil && *project, func(j *job) error { return f(cmd.Context(), j, args) })
	}
}

// remedied adds the remedy to errors of sources.
func remedied(err error) error {
	const denied, unsafe = "nothing was installed; tenon config show prints plugin_policy", "nothing was installed; report it to its publisher"
	err = cli.Remedies{
		{marketplace.ErrAddress, cli.ExitUsage, "write owner/repo, the URL of a repository or of a marketplace.json, or ./directory"},
		{marketplace.ErrSource, cli.ExitTurn, "nothing was installed; if its marketplace is wrong, report it to its publisher"},
		{source.ErrRef, cli.ExitUsage, "write one of: " + source.Forms},
		{install.ErrRenamed, cli.ExitTurn, "remove it and install it again if that is right"},
		{source.ErrServer, cli.ExitTurn, "tenon mcp add adds servers with other settings"},
		{source.ErrDependencies, cli.ExitTurn, "its publisher can bundle them into one file, or list them in bundleDependencies"},
		{source.ErrMismatch, cli.ExitTurn, "do not use it; if its publisher replaced the content on purpose: tenon plugin update"},
		{signature.ErrNoVerifier, cli.ExitRefused, "install " + signature.Program + " of the same release next to tenon, or into a directory of PATH"},
		{signature.ErrDenied, cli.ExitRefused, denied},
		{signature.ErrSignature, cli.ExitRefused, denied},
		{marketplace.ErrNotFound, cli.ExitUsage, "tenon plugin search and tenon plugin marketplace list show the known ones; tenon plugin marketplace add ADDRESS adds a marketplace"},
		{marketplace.ErrCatalogue, cli.ExitTurn, "check the address: a marketplace has a marketplace.json in .claude-plugin, .agents/plugins, or at its root"},
		{marketplace.ErrStale, cli.ExitTurn, "run: tenon plugin marketplace update"},
		{marketplace.ErrTaken, cli.ExitTurn, "remove the other marketplace first: tenon plugin marketplace remove NAME"},
		{marketplace.ErrReserved, cli.ExitRefused, "do not use it; if the catalogue is yours, rename it: the field name of its marketplace.json"},
		{manifest.ErrNotBuilt, cli.ExitTurn, "nothing was installed; if this is source, run tenon plugin build DIRECTORY in a copy that you trust, and install the directory"},
		{marketplace.ErrConflict, cli.ExitTurn, unsafe},
		{sdk.ErrManifest, cli.ExitTurn, unsafe},
		{archive.ErrUnsafe, cli.ExitTurn, unsafe},
		{source.ErrOffline, cli.ExitTurn, "run it again without --offline"},
	}.Remedied(err)
	_, fixed := errors.AsType[*cli.Failure](err)
	_, network := errors.AsType[*url.Error](err)
	_, program := errors.AsType[*exec.ExitError](err) // git, npm or go
	if !fixed && (network || program || errors.Is(err, source.ErrNotFound)) {
		return cli.Fail(cli.ExitTurn, err, "check the reference, your access to it, and the network")
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

func projectFlag(cmd *cobra.Command, project *bool) {
	cmd.Flags().BoolVar(project, "project", false, "use the project's "+pins.Name+" instead of yours")
}

func installCommand(a *cli.App) *cobra.Command {
	var yes, project bool
	var without []string
	var key string
	cmd := &cobra.Command{
		Use: "install REF...", Short: "Install plugins", Aliases: []string{"i"},
		Long: `Install plugins. tenon shows what a plugin requests, and runs it only after you approve it.

A REF is one of:
  ./directory, ./file.tar.gz, ./file.zip, ./file.wasm, ./file.mcpb
  https://host/file.tar.gz#sha256=…   also .tgz, .zip, .wasm, .mcpb; the digest is optional
  github:owner/repo[/directory][@ref|#commit]
  git+https://host/repo.git[//directory][@ref|#commit], git+ssh://…
  npm:package[@version or range]
  oci://registry/repository[:tag|@digest]
  go:module/command[@version]         built here, without cgo
  mcp:name[@version]                  from the registry of MCP servers
  name@marketplace                    tenon plugin marketplace add adds one, tenon plugin search finds names

tenon pins the exact content in ` + pins.Name + `: yours in the configuration directory, or with --project the
project's, which may be committed. It holds no approvals.`,
		Args: cli.Args(1, -1, "a reference"),
		RunE: body(a, &project, func(ctx context.Context, j *job, args []string) error {
			var err error
			if key != "" {
				if j.installer.Key, err = signature.ParseKey(key); err != nil {
					return cli.UsageError("minisign prints the public key; it is the second line of minisign.pub", "--key: %w", err)
				}
			}
			t := j.target
			if t.Base, err = a.Directory(); err != nil { // paths on the command line start at the working directory
				return err
			}
			var staged []*install.Staged
			for _, ref := range args {
				s, err := j.installer.Stage(ctx, t, ref, nil)
				if err != nil {
					return err
				}
				staged = append(staged, s)
			}
			return j.adopt(ctx, staged, yes, without)
		}),
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	cmd.Flags().StringArrayVar(&without, "without", nil, "do not grant this `capability`; may be repeated")
	cmd.Flags().StringVar(&key, "key", "", "require a signature of this minisign public `key`, now and for updates")
	projectFlag(cmd, &project)
	return cmd
}

// adopt shows staged plugins, asks about each, and pins those that were approved.
func (j *job) adopt(ctx context.Context, staged []*install.Staged, yes bool, without []string) error {
	for _, s := range staged {
		f, err := j.pinned()
		if err != nil {
			return err
		}
		if old := f.Find(s.Name); old != nil && old.Ref != s.Ref {
			j.app.Screen.Line(fmt.Sprintf("this replaces the installed plugin %s from %s (%s)", terminal.Visible(old.Name), terminal.Visible(old.Ref), terminal.Visible(install.Describe(*old))))
		}
		if err := j.approve(ctx, s, yes, without); err != nil {
			return err
		}
		if err := j.pin(ctx, s.Plugin); err != nil {
			return err
		}
		j.app.Screen.Line(fmt.Sprintf("installed %s (%s)", terminal.Visible(s.Name), terminal.Visible(install.Describe(s.Plugin))))
	}
	j.loader.Save()
	return nil
}

// approve shows a staged plugin and asks the user.
func (j *job) approve(ctx context.Context, s *install.Staged, yes bool, without []string) error {
	signer := cmp.Or(s.Signer, "not checked: no rule of plugin_policy names one for this source")
	if s.Signer != "" && s.Project {
		signer += " (recorded in the project's file)"
	}
	definition := ""
	if len(s.Definition) > 0 {
		definition = "from the marketplace"
	}
	j.app.Screen.Line(terminal.Visible(s.Name))
	for _, field := range [][2]string{
		{"source", s.Ref}, {"pinned", install.Describe(s.Plugin)}, {"fetched from", s.Pin.Source}, {"signer", signer}, {"definition", definition}, {"fetched from", s.URL},
	} {
		if field[1] != "" {
			j.app.Screen.Line(fmt.Sprintf("  %-14s %s", field[0], terminal.Visible(field[1])))
		}
	}
	for range manage.MaxRounds {
		set, err := j.workspace.Staged(ctx, []plugins.Installed{s.Installed})
		if err != nil {
			return err
		}
		again, err := j.ask(ctx, set, s, yes, without)
		if err := errors.Join(err, set.Discard(ctx)); err != nil || !again {
			return err
		}
	}
	return nil
}

// ask asks about the plugin and what came with it. The question about a package covers its servers and hooks.
func (j *job) ask(ctx context.Context, set *extensions.Set, s *install.Staged, yes bool, without []string) (again bool, err error) {
	c := find(set, &s.Installed)
	switch {
	case c == nil:
		return false, fmt.Errorf("%s was not found after it was unpacked", s.Name)
	case c.State == plugins.StateRejected:
		return false, cli.Fail(cli.ExitTurn, fmt.Errorf("%s: %w", c.Name, c.Err), "nothing was installed")
	case c.State == plugins.StatePending:
		undescribed := c.Item.Request.Undescribed
		return undescribed, manage.Approve(ctx, j.app, set, c, yes, without)
	}
	return false, nil
}

// find returns the candidate of an installed plugin; nil without one.
func find(set *extensions.Set, in *plugins.Installed) *extensions.Candidate {
	for _, c := range set.Candidates {
		if c.Item == nil {
			continue
		}
		if pin, ok := c.Item.Pin(); ok && pin.Source() == in.Source() {
			return c
		}
	}
	return nil
}
