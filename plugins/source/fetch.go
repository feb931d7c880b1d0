package source

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/plugins/archive"
	"github.com/tenonhq/tenon/plugins/source/oci"
)

// Kinds of errors.
var (
	// ErrMismatch is returned for content that differs from its pin.
	ErrMismatch = errors.New("not the pinned content")
	// ErrOffline is returned for content that is not in the cache and must not be fetched.
	ErrOffline = errors.New("not in the cache")
	// ErrAddress is returned for addresses that a repository must not name.
	ErrAddress = errors.New("address refused")
)

// Pin names exactly one content of a plugin. Its fields are written to lock files.
type Pin struct {
	Ref string `json:"ref"` // as the user wrote it; the path of a local source is relative to the lock file if it is below it
	// Version is a tag or branch that was resolved, or the version of an npm package; empty if there is none.
	Version   string `json:"version,omitempty"`
	Commit    string `json:"commit,omitempty"`
	URL       string `json:"url,omitempty"`       // of the tarball of an npm package, or of an MCP bundle
	SHA256    string `json:"sha256,omitempty"`    // of an archive
	Integrity string `json:"integrity,omitempty"` // of the tarball of an npm package, as in its registry: "sha512-…"
	// Source is the reference that a marketplace named for Ref, in the form of Ref.
	Source string `json:"source,omitempty"`
	// Definition is the manifest that the marketplace's entry defines for the plugin; empty if the plugin's own is sufficient.
	Definition json.RawMessage `json:"definition,omitempty"`
	// Signer is the signer of the content, as Verify returned it; empty if no signature was required.
	Signer string `json:"signer,omitempty"`
	// Local marks content that each machine makes itself from the pinned fields: dependencies of an npm package, a program that is built,
	// the variant for a platform. Its digest differs between machines.
	Local bool `json:"local,omitempty"`
	// Packages is the package-lock of the dependencies of an npm package, with addresses that are relative to the registry.
	Packages json.RawMessage `json:"packages,omitempty"`
	// Manifest is the digest of the manifest or index in an OCI registry: "sha256:" and 64 hexadecimal digits.
	Manifest string `json:"manifest,omitempty"`
	// Platforms are the digests of an index's manifests by platform, such as linux/amd64. For other platforms, the index decides.
	Platforms map[string]string `json:"platforms,omitempty"`
	// Build pins the modules that a Go program is built from.
	Build *Build `json:"build,omitempty"`
	// Server is the server.json of an MCP server, reduced to what decides about its start.
	Server json.RawMessage `json:"server,omitempty"`
}

// Resolved parses the reference that is fetched: Source if Ref names a plugin of a marketplace.
func (p Pin) Resolved(base, home string) (Ref, error) {
	r, err := Parse(p.Ref, base, home)
	switch {
	case err != nil:
		return r, err
	case r.Kind != Catalogue && p.Source+string(p.Definition) != "":
		return r, fmt.Errorf("%w: source and definition belong to plugins of marketplaces", ErrRef)
	case r.Kind != Catalogue:
		return r, nil
	}
	if r, err = Parse(p.Source, base, home); err == nil && r.Kind == Catalogue {
		err = fmt.Errorf("%w: source is itself a plugin of a marketplace", ErrRef)
	}
	return r, err
}

// Check returns an error for invalid fields, and for fields that contradict the reference that is fetched. Lock files are untrusted, and their
// fields become file names and arguments.
func (p Pin) Check(r Ref) error {
	switch {
	case p.SHA256 != "" && !isSHA256(p.SHA256):
		return fmt.Errorf("%w: sha256 %q is not 64 hexadecimal digits", ErrRef, visible.Cut(p.SHA256, 80, "…"))
	case p.Commit != "" && !isCommit(p.Commit):
		return fmt.Errorf("%w: %q is not a full commit", ErrRef, visible.Cut(p.Commit, 80, "…"))
	case p.Commit != "" && r.Kind != Git, p.SHA256 != "" && r.Kind == Git, p.Integrity != "" && r.Kind != NPM, p.Build != nil && r.Kind != Go,
		(p.URL != "" || p.Packages != nil) && r.Kind != NPM && r.Kind != MCP, p.Server != nil && r.Kind != MCP,
		(p.Manifest != "" || len(p.Platforms) > 0) && r.Kind != OCI && r.Kind != Path:
		return fmt.Errorf("%w: a pin of another kind of source", ErrRef)
	case p.Ref != "" && p.Server == nil && r.Kind == MCP:
		return fmt.Errorf("%w: the description of the MCP server is missing", ErrRef)
	case p.Manifest != "" && !isDigest(p.Manifest), p.Platforms != nil && p.Manifest == "":
		return fmt.Errorf("%w: manifest %q is not sha256: and 64 hexadecimal digits", ErrRef, visible.Cut(p.Manifest, 100, "…"))
	case p.Local != p.made() && !(p.Local && p.SHA256 != "" && (formatOf(r.URL) == formatBundle || r.Kind == MCP)):
		return fmt.Errorf("%w: no field pins the content that this machine makes", ErrRef)
	case p.Build != nil:
		return p.Build.check()
	case r.Commit != "" && p.Commit != "" && r.Commit != p.Commit, r.SHA256 != "" && p.SHA256 != "" && r.SHA256 != p.SHA256,
		r.Kind == OCI && r.SHA256 != "" && p.Manifest != "" && p.Manifest != sha256Prefix+r.SHA256:
		return fmt.Errorf("%w: the pin is not what the reference names", ErrMismatch)
	}
	return nil
}

// made reports whether each machine makes the content itself, from the pinned fields.
func (p Pin) made() bool { return p.Packages != nil || p.Platforms != nil || p.Build != nil }

// Fetched is a plugin on disk.
type Fetched struct {
	Pin
	// Path is the directory or file of the plugin: the directory passed to Fetch, or a file in it.
	Path    string
	LeftOut []string // parts that were not unpacked, with the reason

	ref      Ref
	pinned   bool // by a lock file
	verified bool // Verify was called
}

// Fetcher fetches plugins. Its fields must not change while it is used. Safe for concurrent use.
type Fetcher struct {
	Cache    string // directory of downloads, by digest; made when it is needed
	Seed     string // another such directory, from which the cache is filled; empty: none
	Builds   string // directory of compiled Go packages; default: in Cache
	Registry string // of npm; default: https://registry.npmjs.org
	Token    string // for that registry; empty: none
	// UserConfig returns the settings in the user's .npmrc: registries of scopes, a default for Registry, and tokens; nil: none.
	UserConfig func() (NPMSettings, error)
	// MCPRegistry is the registry of MCP servers; empty: the official one.
	MCPRegistry string
	Environ     []string
	Project     string // directory whose programs are not run, even if PATH names them; empty: none
	// Offline forbids the network: only the cache is used.
	Offline bool
	// Guarded refuses hosts that lead to this machine, to link-local addresses or to metadata servers. It is set for references that a
	// repository names.
	Guarded bool
	// Described is set for plugins whose content must have a manifest; a marketplace describes others.
	Described bool
	// Progress receives the number of bytes that have arrived, and the number expected or 0. If nil, progress is not reported. It
	// may be called concurrently.
	Progress    func(name string, have, want int64)
	MaxTransfer int64 // bytes of one git fetch or download; default: 512 MiB
	// Platforms are further platforms whose variants a fetch adds to the pin, such as linux/arm64.
	Platforms []string
	// Verify checks the signatures of an artifact before it is unpacked, and returns its signer; empty if none is required. It also judges unsigned
	// content, and the package behind an MCP server before the package is fetched. If nil, no signature is looked for.
	Verify func(ctx context.Context, a *Artifact) (signer string, err error)
	// Judge returns an error for an address that a server names: of a redirect, of a registry's token server, or of the tarball of an npm
	// package. If set, git follows no redirects. If nil, all addresses are permitted.
	Judge func(to *url.URL) error
	// Transport sends requests. Default: http.DefaultTransport with the rules of Guarded.
	Transport http.RoundTripper
	// unresolved has the hosts behind the user's proxy that could not be looked up, so that not every request of a tree waits for the name server.
	unresolved *sync.Map
}

// Fetch fetches the plugin of a reference and unpacks it in the empty directory dir. With a pin, the content is exactly the pinned
// one, or the error is ErrMismatch. Errors: archive.ErrUnsafe, those of the network, of git and of the file system.
func (f *Fetcher) Fetch(ctx context.Context, r Ref, pin *Pin, dir string) (*Fetched, error) {
	pin = cmp.Or(pin, &Pin{})
	if err := pin.Check(r); err != nil {
		return nil, fmt.Errorf("%s: %w", r, err)
	}
	out := &Fetched{Pin: *pin, Path: dir, ref: r, pinned: pin.Ref != ""}
	out.Ref, out.Signer = r.String(), ""
	f, release := f.connected()
	defer release()
	k, _ := kindOf(r.Kind, "") // never Catalogue: its marketplace named another
	err := k.fetch(f, ctx, r, out, dir)
	if err == nil && !out.verified {
		err = f.verify(ctx, &Artifact{}, out) // sources of this kind are not signed
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r, err)
	}
	return out, nil
}

// path takes a directory, a module or an archive of this machine. A directory is copied like an unpacked archive of it, without links that
// lead out, so both have the same digest.
func (f *Fetcher) path(ctx context.Context, r Ref, out *Fetched, dir string) error {
	info, err := os.Stat(r.URL)
	if err != nil {
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			err = e.Err // the caller names the path
		}
		return err
	}
	switch {
	case info.IsDir() && oci.IsLayout(r.URL):
		return f.artifact(ctx, oci.Layout(r.URL), r, out, dir)
	case info.IsDir():
		return out.unpacked(archive.Directory{Path: r.URL}.Extract(ctx, dir))
	case !info.Mode().IsRegular():
		return errors.New("neither a directory nor a file")
	case formatOf(r.URL) == "":
		return fmt.Errorf("%w: unknown kind of file", ErrRef)
	}
	sum, err := sumFile(r.URL, "")
	if err == nil && out.SHA256 != "" && out.SHA256 != sum {
		err = fmt.Errorf("%w: its SHA-256 is %s, but %s is pinned", ErrMismatch, sum, out.SHA256)
	}
	if err != nil {
		return err
	}
	signatures := func(_ context.Context, suffix string) ([]byte, error) {
		return projectfs.ReadRegular(r.URL+suffix, maxSignatureFile)
	}
	return f.file(ctx, r.URL, r.URL, sum, signatures, out, dir)
}

// archive downloads a file.
func (f *Fetcher) archive(ctx context.Context, r Ref, out *Fetched, dir string) error {
	want := cmp.Or(out.SHA256, r.SHA256)
	path, sum, err := f.download(ctx, r.URL, r.URL, want, "")
	if err != nil {
		return err
	}
	name, _, _ := strings.Cut(r.URL, "?")
	return f.file(ctx, path, name, sum, f.besideURL(r.URL, sum, want != ""), out, dir)
}

// file verifies a file and unpacks it. Its name determines its format. signatures returns the content of a signature file by its suffix.
func (f *Fetcher) file(ctx context.Context, path, name, sum string, signatures func(context.Context, string) ([]byte, error), out *Fetched, dir string) error {
	out.SHA256 = sum
	all := func(ctx context.Context, suffix string) ([][]byte, error) {
		data, err := signatures(ctx, suffix)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrNotFound) {
			return nil, nil
		}
		return [][]byte{data}, err
	}
	if err := f.verify(ctx, &Artifact{Digest: "sha256:" + sum, Path: path, Signatures: all}, out); err != nil {
		return err
	}
	format := formatOf(name)
	if format == "wasm" {
		return f.module(path, filepath.Base(name), out, dir)
	}
	return f.unpack(ctx, path, format, out, dir)
}

// module copies a bare module under its own name, which is the plugin's name until its description is known.
func (f *Fetcher) module(file, name string, out *Fetched, dir string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	// Layer 1 in the preamble, see https://github.com/WebAssembly/component-model/blob/main/design/mvp/Binary.md.
	if bytes.HasPrefix(data, []byte("\x00asm")) && len(data) > 6 && data[6] == 1 {
		return errors.New("a WASM component; tenon runs core modules")
	}
	out.Path = filepath.Join(dir, name)
	return os.WriteFile(out.Path, data, 0o644)
}

func (f *Fetcher) unpack(ctx context.Context, path, format string, out *Fetched, dir string) error {
	file, info, err := projectfs.OpenRegular(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if format == formatBundle {
		return f.unpackBundle(ctx, file, info.Size(), out, dir)
	}
	a := archive.File{Format: archive.Format(format), Data: file, Size: info.Size()}
	return out.unpacked(a.Extract(ctx, dir))
}

// unpacked stores the parts that were left out.
func (out *Fetched) unpacked(content *archive.Content, err error) error {
	if err == nil {
		out.LeftOut = content.LeftOut
	}
	return err
}

// cached returns the path of something in the cache, and whether it exists.
func (f *Fetcher) cached(kind, name string) (string, bool, error) {
	if name != filepath.Base(name) || name == "." || name == ".." {
		return "", false, fmt.Errorf("%w: %q cannot be a name in the cache", ErrRef, name)
	}
	path := filepath.Join(f.Cache, kind, name)
	_, err := os.Lstat(path)
	if err == nil {
		return path, true, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	return path, false, err
}

// Kinds of cached files that are named by their digest, which is checked at each use.
const (
	filesKind = "files" // by SHA-256
	npmKind   = "npm"   // by SHA-512
)

// folderOf returns the kind of the files with a digest, in hexadecimal digits.
func folderOf(sum string) string {
	if len(sum) == hex.EncodedLen(sha512.Size) {
		return npmKind
	}
	return filesKind
}

// seeded copies a file from the seed.
func (f *Fetcher) seeded(name, path string) (bool, error) {
	from, _, err := projectfs.OpenRegular(filepath.Join(f.Seed, name))
	if err != nil {
		return false, nil // the file will be fetched
	}
	defer from.Close()
	to, err := os.CreateTemp(filepath.Dir(path), ".seed-")
	if err != nil {
		return false, err
	}
	defer os.Remove(to.Name()) // unless it has its new name
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Close()); err == nil {
		err = os.Rename(to.Name(), path)
	}
	return err == nil, err
}
