package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/plugins/archive"
	"github.com/tenonhq/tenon/plugins/pins"
	"github.com/tenonhq/tenon/plugins/source"
	"github.com/tenonhq/tenon/plugins/trust"
)

// VendorDir is the directory of a project with the content that its lock file pins, so that a sync needs no network.
const VendorDir = ".tenon/vendor"

// vendorStart is the prefix of temporary directories next to the vendor directory; the finished one is renamed to it.
const vendorStart = ".vendor-"

// treesDir has the contents of plugins, each as a .tar.gz named by its digest. Next to it are the sources of contents that each machine
// makes, as in the cache of downloads.
const treesDir = "trees"

// Write replaces the content of a vendor directory with the content that the lock file pins. It fetches plugins that are missing. The error wraps
// ErrOutside if the directory or its parent is a link: a repository could lead to directories of the user.
func (in *Installer) Write(ctx context.Context, t Target, f *pins.File, dir string) error {
	for _, path := range []string{filepath.Dir(dir), dir} {
		if info, err := os.Lstat(path); err == nil && !info.IsDir() {
			return fmt.Errorf("%w: %s is a link or file, expected a directory", ErrOutside, path)
		}
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	sweep(filepath.Dir(dir), vendorStart)
	temp, err := os.MkdirTemp(filepath.Dir(dir), vendorStart)
	if err != nil {
		return err
	}
	for _, p := range f.Plugins {
		if err == nil {
			err = in.vendor(ctx, t, &p, temp)
		}
	}
	if err == nil {
		err = errors.Join(trim(temp), os.Chmod(temp, 0o755))
	}
	if err == nil {
		err = child.RemoveAll(dir)
	}
	if err == nil {
		return os.Rename(temp, dir)
	}
	return errors.Join(err, child.RemoveAll(temp))
}

func (in *Installer) vendor(ctx context.Context, t Target, p *pins.Plugin, dir string) error {
	if p.Local {
		inner, fetcher := *in, *in.Fetcher
		fetcher.Builds = cmp.Or(fetcher.Builds, filepath.Join(fetcher.Cache, "go", "build"))
		fetcher.Cache, fetcher.Seed = dir, fetcher.Cache
		inner.Fetcher = &fetcher
		_, err := inner.Stage(ctx, t, p.Ref, p)
		return err
	}
	s, err := in.Vault.Open(ctx, p.Digest)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, trust.ErrChanged) {
		if _, err = in.Stage(ctx, t, p.Ref, p); err == nil {
			s, err = in.Vault.Open(ctx, p.Digest)
		}
	}
	if err != nil {
		return err
	}
	path := tree(dir, p.Digest)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) { // of another plugin with the same content
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(archive.Pack(ctx, file, archive.Directory{Path: s.Root}, "plugin"), file.Close())
}

func tree(dir string, d trust.Digest) string {
	_, sum, _ := strings.Cut(string(d), ":")
	return filepath.Join(dir, treesDir, sum+".tar.gz")
}

// trim removes files of a cache that are not sources: locks, and modules that the go command unpacked.
func trim(dir string) (err error) {
	for _, pattern := range []string{"files/part-*", "go/path", "go/mod/*", "go/mod/cache/vcs", "go/mod/cache/lock"} {
		found, globErr := fs.Glob(os.DirFS(dir), pattern)
		err = errors.Join(err, globErr)
		for _, name := range found {
			if name != "go/mod/cache" {
				err = errors.Join(err, child.RemoveAll(filepath.Join(dir, filepath.FromSlash(name))))
			}
		}
	}
	return err
}

// vendored unpacks the content of a pin from the vendor directory; nil without one.
func (in *Installer) vendored(ctx context.Context, p *pins.Plugin, dir string) (*source.Fetched, error) {
	if p == nil || p.Local {
		return nil, nil
	}
	file, info, err := projectfs.OpenRegular(tree(in.Vendor, p.Digest))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	a := archive.File{Format: archive.TarGzip, Data: file, Size: info.Size()}
	content, err := a.Extract(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file.Name(), err)
	}
	out := &source.Fetched{Pin: p.Pin, Path: dir, LeftOut: content.LeftOut}
	// No signature is checked here.
	out.Signer = ""
	if files, err := os.ReadDir(dir); err == nil && len(files) == 1 { // a bare module or program, or a package
		single := filepath.Join(dir, files[0].Name())
		if d, err := in.Vault.Digest(ctx, single); err == nil && d == p.Digest {
			out.Path = single
		}
	}
	return out, nil
}
