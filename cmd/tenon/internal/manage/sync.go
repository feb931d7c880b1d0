package manage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon"
	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/internal/atomicfile"
	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/internal/linediff"
	"github.com/tenonhq/tenon/plugins"
	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/plugins/scaffold"
	"github.com/tenonhq/tenon/sdk"
)

// describeTime limits how long a plugin's process may take to describe itself. Modules have their own limits, which do not include compiling.
const describeTime = 20 * time.Second

// errNoDescription is returned for a plugin that does not describe itself.
var errNoDescription = errors.New("the plugin does not describe itself")

// fixCode is the remedy for an invalid description.
const fixCode = "fix the code of the plugin"

// newPlugin holds the flags of "tenon plugin new".
type newPlugin struct {
	*cli.App
	carrier, lang string
}

func (n *newPlugin) write(_ *cobra.Command, args []string) error {
	name := args[0]
	switch {
	case plugins.OwnForm(name):
		return cli.UsageError(`write a name such as "my-plugin"`, "name %q: such names belong to command hooks and MCP servers", name)
	case cli.IsShipped(name):
		return cli.UsageError(`write a name such as "my-`+name+`"`, "name %q belongs to a built-in plugin", name)
	}
	dir, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	files, err := scaffold.Write(dir, scaffold.Options{Name: name, Carrier: n.carrier, Lang: n.lang, SDK: tenon.SDKSource})
	switch {
	case errors.Is(err, sdk.ErrManifest):
		return cli.UsageError(`write a name such as "my-plugin"`, "%w", err)
	case errors.Is(err, scaffold.ErrExists):
		return cli.UsageError("choose another name, or another directory with --dir", "%w", err)
	case errors.As(err, new(*fs.PathError)):
		return err
	case err != nil:
		return cli.UsageError("tenon plugin new --help lists carriers and languages", "%w", err)
	}
	var b strings.Builder
	for _, file := range files {
		fmt.Fprintln(&b, filepath.Join(dir, filepath.FromSlash(file)))
	}
	if err := n.Print(b.String()); err != nil {
		return err
	}
	n.Say("next: tenon plugin test %s", dir)
	return nil
}

// inPackage returns work that runs the steps for the package in the directory of the argument, until one fails.
func (g *group) inPackage(steps ...func(context.Context, *cli.App, string) error) cli.Work {
	return func(cmd *cobra.Command, args []string) error {
		dir, err := filepath.Abs(strings.Join(args, ""))
		if err != nil {
			return err
		}
		if !hasManifest(dir) {
			return cli.UsageError("name the directory of a plugin; tenon plugin new creates one", "no %s in %s", manifest.File, dir)
		}
		for _, step := range steps {
			if err := step(cmd.Context(), g.App, dir); err != nil {
				return err
			}
		}
		return nil
	}
}

// hasManifest reports whether a directory is a package of tenon.
func hasManifest(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, manifest.File))
	return err == nil
}

// syncManifest rewrites the manifest of a built package if its code declares something else.
func syncManifest(ctx context.Context, a *cli.App, dir string) error {
	_, synced, err := compareManifest(ctx, a, dir)
	if errors.Is(err, errNoDescription) {
		return cli.UsageError(remedyFor(err, "fix the error above; with --describe, a plugin prints its description and nothing else; without a library of tenon, write plugin.json by hand"), "%s: %w", dir, err)
	}
	if err != nil || synced == nil {
		return err
	}
	path := filepath.Join(dir, manifest.File)
	if err := atomicfile.Write(path, synced, atomicfile.Options{Mode: 0o644}); err != nil {
		return err
	}
	a.Screen.Line(a.Screen.Paint(terminal.Dim, "updated "+terminal.Visible(path)))
	return nil
}

// remedyFor returns the remedy for a program that is not in PATH, or else other.
func remedyFor(err error, other string) string {
	if missing, ok := errors.AsType[*exec.Error](err); ok {
		return "install " + missing.Name + ", or correct PATH"
	}
	return other
}

// checkManifest returns an error that shows the difference between the manifest of a package and its code.
func checkManifest(ctx context.Context, a *cli.App, dir string) error {
	old, synced, err := compareManifest(ctx, a, dir)
	if errors.Is(err, errNoDescription) {
		a.Screen.Line(a.Screen.Paint(terminal.Dim, "plugin.json is not compared with the code: "+terminal.Visible(err.Error())))
		return nil
	}
	if err != nil || synced == nil {
		return err
	}
	diff := linediff.Compare("plugin.json", "code", string(old), string(synced)).Text
	return cli.Fail(cli.ExitTurn, fmt.Errorf("plugin.json differs from the code:\n%s", diff), "tenon plugin sync-manifest "+dir)
}

// compareManifest returns the manifest of a package, and the manifest as its code declares it if they differ. Errors wrap errNoDescription
// if the code declares nothing.
func compareManifest(ctx context.Context, a *cli.App, dir string) (old, synced []byte, err error) {
	old, err = os.ReadFile(filepath.Join(dir, manifest.File))
	if err != nil {
		return nil, nil, err
	}
	p, err := manifest.ReadUnbuilt(dir)
	if err != nil {
		return nil, nil, err
	}
	run := p.Description.Runtime
	if run == nil {
		return old, nil, nil // MCP servers describe themselves
	}
	said, err := describeCode(ctx, a, dir, run)
	if err != nil {
		return nil, nil, err
	}
	synced, err = mergeDescription(a, old, said)
	if err != nil || equalJSON(old, synced) {
		synced = nil
	}
	return old, synced, err
}

// moduleCache returns the directory for compiled modules, in which a digest identifies each entry; empty if nothing can be created in it, as in
// the sandbox of the model's commands.
func moduleCache(a *cli.App) string {
	dirs, err := cli.FindDirs(a.Env, a.Flags.DataDir)
	if err != nil || os.MkdirAll(dirs.CacheDir, 0o700) != nil {
		return ""
	}
	attempt, err := os.MkdirTemp(dirs.CacheDir, "attempt-")
	if err != nil || os.Remove(attempt) != nil {
		return ""
	}
	return dirs.CacheDir
}

// describeCode asks the code of a package for its contributions.
func describeCode(ctx context.Context, a *cli.App, dir string, run *sdk.Runtime) ([]byte, error) {
	if c := manifest.CarrierOf(sdk.Carrier(run.Type)); c.Module {
		u := remote.Unit{Description: sdk.Description{Runtime: run}, Program: filepath.Join(dir, filepath.FromSlash(run.Module))}
		d, err := c.New(remote.Environment{Logger: a.Log, CacheDir: moduleCache(a)}).Describe(ctx, u)
		switch {
		case errors.Is(err, sdk.ErrWire):
			return nil, cli.UsageError(fixCode, "the plugin's description of itself: %w", err)
		case err != nil:
			return nil, fmt.Errorf("%w: %w", errNoDescription, err)
		}
		return json.Marshal(d)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, describeTime, fmt.Errorf("no answer within %s", describeTime))
	defer cancel()
	program := run.Command[0]
	if strings.HasPrefix(program, "./") {
		program = filepath.Join(dir, filepath.FromSlash(program))
	}
	cmd := exec.CommandContext(ctx, program, append(slices.Clone(run.Command[1:]), "--describe")...)
	cmd.Dir, cmd.Env = dir, child.Environ(a.Env, map[string]string{"PLUGIN_ROOT": dir, "PYTHONDONTWRITEBYTECODE": "1"})
	child.Prepare(cmd)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err = child.Ended(err); err != nil {
		return nil, fmt.Errorf("%w: %s --describe: %w\n%s", errNoDescription, strings.Join(run.Command, " "), err, strings.TrimSpace(stderr.String()))
	}
	if said := strings.TrimSpace(stderr.String()); said != "" {
		a.Say("%s", terminal.Visible(said)) // such as the parts of a plugin that are left out
	}
	if !json.Valid(out) {
		return nil, fmt.Errorf("%w: %s --describe printed %.80q", errNoDescription, strings.Join(run.Command, " "), out)
	}
	return out, nil
}

// mergeDescription returns the text of a manifest with the contributions of a description, and with its name, version and description where
// it has them. The other fields and the layout stay the same.
func mergeDescription(a *cli.App, text, said []byte) ([]byte, error) {
	var description map[string]json.RawMessage
	var outer struct{ Name json.RawMessage }
	err := errors.Join(json.Unmarshal(text, &outer), json.Unmarshal(said, &description))
	for _, field := range []string{"name", "version", "description"} {
		if v := description[field]; err == nil && len(v) > 0 && string(v) != `""` {
			text, err = config.Set(text, field, v)
		}
	}
	if err != nil {
		return nil, err
	}
	if name := description["name"]; len(name) == 0 || string(name) == `""` {
		description["name"] = outer.Name
	}
	whole, _ := json.Marshal(description) // it was decoded from JSON
	// Check the manifest before writing it: if it were invalid, neither a build nor this command could read and replace it.
	if _, err := manifest.Describe(whole); err != nil {
		return nil, cli.UsageError(fixCode, "%w", err)
	}
	if description["hooks"], err = shortHooks(a, description["hooks"]); err != nil {
		return nil, err
	}
	for _, field := range contributions() {
		key, v := checked.Join(checked.Join("extensions", sdk.ExtensionNamespace), field), description[field]
		if len(v) == 0 || string(v) == "null" || string(v) == "[]" {
			text, err = config.Remove(text, key)
		} else {
			text, err = config.Set(text, key, v)
		}
		if err != nil {
			return nil, err
		}
	}
	return text, nil
}

// shortHooks leaves out the names of hooks that are the default, the point. It tells the author of hooks for which the value is empty, because they
// declare no field of it.
func shortHooks(a *cli.App, raw json.RawMessage) (json.RawMessage, error) {
	var hooks []sdk.HookDescription
	if len(raw) == 0 {
		return raw, nil
	}
	if err := json.Unmarshal(raw, &hooks); err != nil {
		return nil, fmt.Errorf("hooks: %w", err)
	}
	for i := range hooks {
		if hooks[i].Name == hooks[i].Point {
			hooks[i].Name = ""
		}
		if info, _ := hookpoint.Of(hooks[i].Point); info.Kind == hookpoint.KindTransform && !info.MayDeny && len(hooks[i].Reads)+len(hooks[i].Writes) == 0 {
			a.Say("the hook at %s declares no field in reads or writes: it gets an empty value, and its changes are dropped", info.Point)
		}
	}
	return json.Marshal(hooks)
}

// contributions are the fields of a manifest that follow from the code.
func contributions() []string {
	return []string{"hooks", "tools", "capabilities", "options", "providers", "protocols", "auth", "agents", "commands"}
}

func equalJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
