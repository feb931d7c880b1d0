package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/plugins/source/oci"
)

// ociName matches what follows "oci:": a repository, and a tag or a digest.
var ociName = lazyregexp.New(`^//([^@]+?)(?::([A-Za-z0-9_][A-Za-z0-9_.-]*)|@(sha256:[0-9a-f]{64}))?$`)

// ociRef reads what follows "oci:". The version is a tag, or a digest.
func ociRef(_, rest string) (Ref, error) {
	m := ociName().FindStringSubmatch(rest)
	if m == nil || !oci.Valid(m[1]) {
		return Ref{}, errors.New("want oci://registry/repository, oci://registry/repository:tag or oci://registry/repository@sha256:…")
	}
	u, err := url.Parse("https://" + m[1])
	if err == nil {
		err = manifest.CheckSpelling(u)
	}
	return Ref{Kind: OCI, URL: hubName(m[1]), Version: m[2] + m[3]}, err
}

// hubName adds the namespace of Docker Hub's official repositories to a name without one: docker.io/x is docker.io/library/x. Other names
// are not changed.
func hubName(name string) string {
	registry, repository, _ := strings.Cut(name, "/")
	if OCILocation(registry) == hub && !strings.Contains(repository, "/") {
		return registry + "/library/" + repository
	}
	return name
}

func ociText(r Ref) string {
	switch {
	case r.Version == "":
		return "oci://" + r.URL
	case isDigest(r.Version):
		return "oci://" + r.URL + "@" + r.Version
	}
	return "oci://" + r.URL + ":" + r.Version
}

// isDigest reports whether a text is "sha256:" and 64 hexadecimal digits.
func isDigest(s string) bool {
	sum, ok := strings.CutPrefix(s, "sha256:")
	return ok && isSHA256(sum)
}

func (f *Fetcher) oci(ctx context.Context, r Ref, out *Fetched, dir string) error {
	repo, release, err := f.registry(r)
	if err != nil {
		return err
	}
	defer release()
	return f.artifact(ctx, repo, r, out, dir)
}

// registry returns the repository of a reference. The caller calls release after the last request.
func (f *Fetcher) registry(r Ref) (repo *oci.Repository, release func(), err error) {
	client, release, err := f.client(oci.Address(r.URL))
	if err == nil {
		repo, err = oci.Open(r.URL, client) // nothing is connected
	}
	return repo, release, err
}

// artifact fetches the manifest that is pinned or named, that of this platform if it is an index, and its content.
func (f *Fetcher) artifact(ctx context.Context, repo *oci.Repository, r Ref, out *Fetched, dir string) error {
	top := oci.Blob{Digest: out.Manifest}
	if isDigest(r.Version) {
		if out.Manifest != "" && out.Manifest != r.Version {
			return fmt.Errorf("%w: pinned is %s", ErrMismatch, out.Manifest)
		}
		top.Digest = r.Version
	}
	if path, err := f.kept(strings.TrimPrefix(top.Digest, "sha256:")); err != nil {
		return err
	} else if path == "" {
		if top, err = f.resolveOCI(ctx, repo, r, top.Digest); err != nil {
			return err
		}
	}
	out.Manifest = top.Digest
	if !isDigest(r.Version) {
		out.Version = r.Version
	}
	m, err := f.manifest(ctx, repo, r, top)
	if err == nil {
		err = f.verifyManifest(ctx, repo, top, out)
	}
	if err != nil {
		return err
	}
	if m.Platforms != nil {
		if m, err = f.variant(ctx, repo, r, m, out); err != nil {
			return err
		}
	}
	file, err := f.blob(ctx, repo, r, m.Content)
	if err != nil {
		return err
	}
	if m.Module {
		name := path.Base(strings.TrimSuffix(r.URL, "/"))
		return f.module(file, strings.TrimSuffix(name, ".wasm")+".wasm", out, dir)
	}
	return f.unpack(ctx, file, "tar.gz", out, dir)
}

// resolveOCI asks the registry what a tag names; without a tag, latest.
func (f *Fetcher) resolveOCI(ctx context.Context, repo *oci.Repository, r Ref, digest string) (oci.Blob, error) {
	reference := digest
	if r.Kind == OCI {
		reference = cmp.Or(digest, r.Version, "latest")
	}
	b, err := repo.Resolve(ctx, reference)
	if err == nil && digest != "" && b.Digest != digest {
		err = fmt.Errorf("%w: the registry has %s, pinned is %s", ErrMismatch, b.Digest, digest)
	}
	return b, err
}

func (f *Fetcher) manifest(ctx context.Context, repo *oci.Repository, r Ref, b oci.Blob) (*oci.Manifest, error) {
	file, err := f.blob(ctx, repo, r, b)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return oci.Decode(data)
}

// variant pins the manifests of an index for this platform and those of f.Platforms, and returns the one for this platform.
func (f *Fetcher) variant(ctx context.Context, repo *oci.Repository, r Ref, index *oci.Manifest, out *Fetched) (*oci.Manifest, error) {
	own := runtime.GOOS + "/" + runtime.GOARCH
	pinned := out.Platforms
	names := slices.Concat(f.Platforms, slices.Collect(maps.Keys(pinned)))
	if pinned == nil {
		names = append(names, own)
	}
	out.Platforms, out.Local = map[string]string{}, true
	for _, name := range names {
		b, err := index.Choose(name)
		if err != nil {
			return nil, err
		}
		if was := pinned[name]; was != "" && was != b.Digest {
			return nil, fmt.Errorf("%w: the index names %s for %s, pinned is %s", ErrMismatch, b.Digest, name, was)
		}
		out.Platforms[name] = b.Digest
	}
	b, err := index.Choose(own)
	if err != nil {
		return nil, err
	}
	m, err := f.manifest(ctx, repo, r, b)
	if err == nil && m.Platforms != nil {
		err = fmt.Errorf("%w: an index in an index", oci.ErrArtifact)
	}
	return m, err
}

// blob returns a file of the cache with a blob. A transfer that broke off continues.
func (f *Fetcher) blob(ctx context.Context, repo *oci.Repository, r Ref, b oci.Blob) (string, error) {
	sum := strings.TrimPrefix(b.Digest, "sha256:")
	if path, err := f.kept(sum); err != nil || path != "" {
		return path, err
	}
	if b.Size > maxDownload {
		return "", fmt.Errorf("%d MiB exceed the limit of %d", b.Size>>20, maxDownload>>20)
	}
	path, _, err := f.receive(ctx, b.Digest, sum, func(part string) error { return f.transferBlob(ctx, repo, r.Host(""), b, part) })
	return path, err
}

func (f *Fetcher) transferBlob(ctx context.Context, repo *oci.Repository, host string, b oci.Blob, part string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	body, err := repo.Fetch(ctx, b)
	if err != nil {
		return err
	}
	defer body.Close()
	file, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	have, err := file.Seek(0, io.SeekEnd)
	if seeker, ok := body.(io.Seeker); have > 0 && (!ok || have >= b.Size || seek(seeker, have) != nil) {
		have, err = 0, errors.Join(file.Truncate(0), seek(file, 0))
	}
	if err == nil {
		err = f.copy(file, body, host, have, b.Size, cancel)
	}
	return errors.Join(err, context.Cause(ctx), file.Close())
}

func seek(s io.Seeker, at int64) error {
	_, err := s.Seek(at, io.SeekStart)
	return err
}

// Push stores a plugin in a registry under the tag of the reference and returns the digest of its manifest. config describes it, content
// are its files as .tar.gz.
func (f *Fetcher) Push(ctx context.Context, r Ref, config, content []byte, annotations map[string]string) (string, error) {
	if r.Kind != OCI || r.Version == "" || isDigest(r.Version) {
		return "", fmt.Errorf("%w %q: expected oci://registry/repository:tag", ErrRef, r)
	}
	repo, release, err := f.registry(r)
	if err != nil {
		return "", err
	}
	defer release()
	return repo.Push(ctx, r.Version, config, content, annotations)
}
