package install

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/internal/atomicfile"
	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/plugins/archive"
	"github.com/tenonhq/tenon/plugins/install"
	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/plugins/pins"
	"github.com/tenonhq/tenon/plugins/signature"
	"github.com/tenonhq/tenon/plugins/source"
)

var platformForm = lazyregexp.New(`^[a-z0-9]+/[a-z0-9]+$`)

func lockCommand(a *cli.App) *cobra.Command {
	var platforms []string
	var project, yes bool
	cmd := &cobra.Command{
		Use: "lock --platform OS/ARCH...", Short: "Pin the variants of plugins for other platforms", Args: cli.Args(0, 0, ""),
		Long: "Pin the variants of plugins for these platforms, such as linux/arm64, in " + pins.Name + `.
Only plugins from OCI indexes have variants; other pins are valid on all platforms.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, p := range platforms {
				if !platformForm().MatchString(p) {
					return cli.UsageError("write one such as linux/arm64", "invalid platform %q", p)
				}
			}
			if len(platforms) == 0 {
				return cli.UsageError("tenon plugin lock --platform linux/arm64", "--platform is missing")
			}
			return with(cmd.Context(), a, project, func(j *job) error { return j.lock(cmd.Context(), platforms, yes) })
		},
	}
	cmd.Flags().StringArrayVar(&platforms, "platform", nil, "add this `platform`; may be repeated")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	projectFlag(cmd, &project)
	return cmd
}

// lock adds the variants for platforms to the pins that have variants.
func (j *job) lock(ctx context.Context, platforms []string, yes bool) error {
	f, err := j.pinned()
	if err != nil {
		return err
	}
	j.installer.Fetcher.Platforms = platforms
	j.installer.Fetcher.Guarded = j.target.Project
	list := slices.DeleteFunc(slices.Clone(f.Plugins), func(p pins.Plugin) bool { return p.Platforms == nil })
	if err := j.confirmHosts(list, yes, false); err != nil {
		return err
	}
	for _, p := range list {
		s, err := j.installer.Stage(ctx, j.target, p.Ref, &p)
		if err != nil {
			return err
		}
		if err := j.pin(ctx, s.Plugin); err != nil {
			return err
		}
	}
	j.app.Screen.Line(view.Plural(len(list), "plugin") + " with variants, " + view.Plural(len(f.Plugins)-len(list), "plugin") + " for all platforms")
	j.loader.Save()
	return nil
}

func vendorCommand(a *cli.App) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "vendor", Short: "Copy a project's pinned plugins into the project",
		Long: "Copy the content of all plugins of the project's " + pins.Name + " to " + install.VendorDir + `.
tenon plugin sync then uses this copy; with --offline it needs no network.`,
		RunE: body(a, new(true), func(ctx context.Context, j *job, _ []string) error {
			f, err := j.pinned()
			if err != nil {
				return err
			}
			j.installer.Fetcher.Guarded = true
			missing, err := j.installer.Missing(ctx, f)
			if err == nil {
				err = j.confirmHosts(missing, yes, false)
			}
			if err != nil {
				return err
			}
			dir := filepath.Join(filepath.Dir(j.target.Path), filepath.FromSlash(install.VendorDir))
			if err := j.installer.Write(ctx, j.target, f, dir); err != nil {
				return err
			}
			a.Screen.Line(terminal.Visible(dir) + ": " + view.Plural(len(f.Plugins), "plugin"))
			return nil
		}),
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	return cmd
}

// pack reads the plugin in a directory, by default the working directory, and packs it as .tar.gz.
func pack(ctx context.Context, args []string) (*manifest.Package, []byte, error) {
	dir, err := filepath.Abs(strings.Join(args, ""))
	if err != nil {
		return nil, nil, err
	}
	p, err := manifest.Read(dir)
	var content bytes.Buffer
	if err == nil {
		d := archive.Directory{Path: p.Root, Without: func(name string) bool { return publishes(p.Description.Name, name) }}
		err = archive.Pack(ctx, &content, d, p.Description.Name)
	}
	if err != nil {
		return nil, nil, cli.Fail(cli.ExitUsage, err, "fix the plugin, or name the directory of one")
	}
	return p, content.Bytes(), nil
}

// publishes reports whether a file in the directory of a plugin is an archive that pack wrote there, or its signature.
func publishes(plugin, file string) bool {
	return archived().MatchString(strings.TrimPrefix(file, plugin)) && strings.HasPrefix(file, plugin)
}

// archived matches what follows the name of a plugin in the names of its archives and their signatures.
var archived = lazyregexp.New(`^(-\d+(\.\d+)*([-+][0-9A-Za-z.+-]*)?)?\.tar\.gz(\.[a-z]+)?$`)

func packCommand(a *cli.App) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "pack [DIRECTORY]", Short: "Pack a plugin into an archive to publish",
		Long: "Check a plugin and pack it as NAME-VERSION.tar.gz. Equal files give identical archives. Earlier archives in the directory are left out.",
		RunE: func(cmd *cobra.Command, args []string) error {
			p, content, err := pack(cmd.Context(), args)
			if err != nil {
				return err
			}
			if output == "" {
				output = p.Description.Name
				if p.Description.Version != "" {
					output += "-" + filepath.Base(p.Description.Version)
				}
				output += ".tar.gz"
			}
			if output, err = filepath.Abs(output); err != nil {
				return err
			}
			if err := atomicfile.Write(output, content, atomicfile.Options{Mode: 0o644}); err != nil {
				return err
			}
			return a.Print(output + "\n")
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "write this `file` (default: NAME-VERSION.tar.gz)")
	return cmd
}

func pushCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "push oci://REGISTRY/REPOSITORY:TAG [DIRECTORY]", Short: "Publish a plugin in an OCI registry", Args: cli.Args(1, 2, "a reference and a directory"),
		Long: "Check a plugin, pack it, push it to an OCI registry with your Docker credentials, and print the reference with its digest.",
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := source.Parse(args[0], "/", "/")
			if err != nil {
				return remedied(err)
			}
			p, content, err := pack(cmd.Context(), args[1:])
			if err != nil {
				return err
			}
			about, err := os.ReadFile(filepath.Join(p.Root, manifest.File))
			if err != nil {
				about = []byte("{}") // a plugin of another host
			}
			f := &source.Fetcher{Environ: a.Env}
			digest, err := f.Push(cmd.Context(), r, about, content, annotations(p))
			if err != nil {
				return remedied(err)
			}
			r.Version = digest
			return a.Print(r.String() + "\n")
		},
	}
}

// annotations describe a plugin in a registry, see https://github.com/opencontainers/image-spec/blob/main/annotations.md.
func annotations(p *manifest.Package) map[string]string {
	out := map[string]string{}
	for name, value := range map[string]string{
		"title": p.Description.Name, "version": p.Description.Version, "description": p.Description.Summary, "licenses": p.License, "url": p.Homepage,
	} {
		if value != "" {
			out["org.opencontainers.image."+name] = value
		}
	}
	return out
}

func signCommand(a *cli.App) *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use: "sign FILE...", Short: "Sign archives and modules with a minisign key", Args: cli.Args(1, -1, "a file"),
		Long: `Write FILE` + source.MinisignSuffix + ` next to each file. Publish both: users require the signature with plugin_policy or
tenon plugin install --key. minisign -G creates a key; tenon reads its password from the terminal or stdin.`,
		RunE: func(_ *cobra.Command, files []string) error {
			if key == "" {
				key = filepath.Join(a.Env.Lookup("HOME"), ".minisign", "minisign.key") // the default of minisign
			}
			path, err := filepath.Abs(key)
			if err != nil {
				return err
			}
			secret, err := os.ReadFile(path)
			if err != nil {
				return cli.UsageError("minisign -G makes a key; name it with --key", "secret key: %w", err)
			}
			return signFiles(a, files, string(secret))
		},
	}
	cmd.Flags().StringVar(&key, "key", "", "secret key `file` of minisign (default ~/.minisign/minisign.key)")
	return cmd
}

// signFiles asks for the password of an encrypted key.
func signFiles(a *cli.App, files []string, secret string) error {
	password := ""
	for i, file := range files {
		file, err := filepath.Abs(file)
		if err != nil {
			return err
		}
		path, key, err := signature.Sign(file, secret, password)
		if i == 0 && errors.Is(err, signature.ErrPassword) {
			if password, err = a.AskSecret("password of the key"); err != nil {
				return err
			}
			path, key, err = signature.Sign(file, secret, password)
		}
		if errors.Is(err, signature.ErrPassword) {
			return cli.UsageError("enter the password of the key, or pipe it to stdin", "%w", err)
		}
		if err != nil {
			return err
		}
		a.Screen.Line("signed " + terminal.Visible(path) + " by " + key.String())
	}
	return nil
}
