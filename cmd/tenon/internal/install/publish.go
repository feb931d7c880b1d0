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
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/internal/atomicfile"
	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/plugins/archive"
	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/plugins/pins"
	"github.com/tenonhq/tenon/plugins/signature"
	"github.com/tenonhq/tenon/plugins/source"
)

var platformForm = lazyregexp.New(`^[a-z0-9]+/[a-z0-9]+$`)

// lock adds the variants for platforms to the pins that have variants.
func (j *job) lock(ctx context.Context, _ []string) error {
	for _, p := range j.platforms {
		if !platformForm().MatchString(p) {
			return cli.UsageError("write one such as linux/arm64", "invalid platform %q", p)
		}
	}
	if len(j.platforms) == 0 {
		return cli.UsageError("tenon plugin lock --platform linux/arm64", "--platform is missing")
	}
	f, err := j.pinned()
	if err != nil {
		return err
	}
	j.installer.Fetcher.Platforms = j.platforms
	list := slices.DeleteFunc(slices.Clone(f.Plugins), func(p pins.Plugin) bool { return p.Platforms == nil })
	if err := j.confirmHosts(list); err != nil {
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
	j.Say("%s with variants, %s for all platforms", view.Plural(len(list), "plugin"), view.Plural(len(f.Plugins)-len(list), "plugin"))
	return nil
}

func (j *job) vendor(ctx context.Context, _ []string) error {
	if err := j.use(true); err != nil {
		return err
	}
	f, err := j.pinned()
	if err != nil {
		return err
	}
	missing, err := j.installer.Missing(ctx, j.target, f)
	if err == nil {
		err = j.confirmHosts(missing)
	}
	if err == nil {
		err = j.installer.Write(ctx, j.target, f, j.vendorDir())
	}
	if err == nil {
		j.Say("%s: %s", j.vendorDir(), view.Plural(len(f.Plugins), "plugin"))
	}
	return err
}

// packed reads the plugin in a directory, by default the working directory, and packs it as .tar.gz.
func packed(ctx context.Context, args []string) (*manifest.Package, []byte, error) {
	dir, err := filepath.Abs(strings.Join(args, ""))
	if err != nil {
		return nil, nil, err
	}
	p, err := manifest.Read(dir)
	var content bytes.Buffer
	if err == nil {
		d := archive.Directory{Path: p.Root, Without: func(name string) bool { // archives that pack wrote there, and their signatures
			rest, ok := strings.CutPrefix(name, p.Description.Name)
			return ok && archived().MatchString(rest)
		}}
		err = archive.Pack(ctx, &content, d, p.Description.Name)
	}
	if err != nil {
		return nil, nil, cli.Fail(cli.ExitUsage, err, "fix the plugin, or name the directory of one")
	}
	return p, content.Bytes(), nil
}

// archived matches the rest, after the plugin's name, of the names of its archives and their signatures.
var archived = lazyregexp.New(`^(-\d+(\.\d+)*([-+][0-9A-Za-z.+-]*)?)?\.tar\.gz(\.[a-z]+)*$`)

func (g *group) pack(cmd *cobra.Command, args []string) error {
	p, content, err := packed(cmd.Context(), args)
	if err != nil {
		return err
	}
	output := g.output
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
	return g.Print(output + "\n")
}

func (g *group) push(ctx context.Context, w *cli.Workspace, args []string) error {
	r, err := source.Parse(args[0], "/", "/")
	if err == nil && (r.Kind != source.OCI || r.Version == "") {
		err = source.Invalid(args[0], errors.New("not a tag in an OCI registry"))
	}
	if err != nil {
		return cli.UsageError("write oci://REGISTRY/REPOSITORY:TAG, then the directory", "%w", err)
	}
	p, content, err := packed(ctx, args[1:])
	if err != nil {
		return err
	}
	about, err := os.ReadFile(filepath.Join(p.Root, manifest.File))
	if err != nil {
		about = []byte("{}") // a plugin of another host
	}
	if err := withoutPrograms(w); err != nil {
		return err
	}
	fetcher := &source.Fetcher{Environ: g.Env, Project: w.Project.Worktree}
	if r, err = fetcher.Push(ctx, r, about, content, annotations(p)); err != nil {
		return remedied(err)
	}
	return g.Print(r.String() + "\n")
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

// sign signs files with a secret key. It asks for the password of an encrypted key.
func (g *group) sign(_ *cobra.Command, files []string) error {
	key := g.key
	if key == "" {
		key = filepath.Join(g.Env.Lookup("HOME"), ".minisign", "minisign.key") // the default of minisign
	}
	secret, err := os.ReadFile(key)
	if err != nil {
		return cli.UsageError("minisign -G makes a key; name it with --key", "secret key: %w", err)
	}
	password := ""
	for i, file := range files {
		path, public, err := signature.Sign(file, string(secret), password)
		if i == 0 && errors.Is(err, signature.ErrPassword) {
			if password, err = g.AskSecret("password of the key"); err != nil {
				return err
			}
			path, public, err = signature.Sign(file, string(secret), password)
		}
		if errors.Is(err, signature.ErrPassword) {
			return cli.UsageError("enter the password of the key, or pipe it to stdin", "%w", err)
		}
		if err != nil {
			return err
		}
		g.Say("signed %s by %s", path, public)
	}
	return nil
}
