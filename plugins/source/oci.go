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
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/plugins/source/oci"
)

// ociName matches the text after "oci:": a repository, and a tag or a digest.
var ociName = lazyregexp.New(`^//([^@]+?)(?::([A-Za-z0-9_][A-Za-z0-9_.-]*)|@sha256:([0-9a-f]{64}))?$`)

// ociRef parses the text after "oci:".
func ociRef(_, rest string) (Ref, error) {
	m := ociName().FindStringSubmatch(rest)
	if m == nil || !oci.Valid(m[1]) {
		return Ref{}, errors.New("want oci://registry/repository, oci://registry/repository:tag or oci://registry/repository@sha256:…")
	}
	u, err := url.Parse("https://" + m[1])
	if err == nil {
		err = manifest.CheckSpelling(u)
	}
	return Ref{Kind: OCI, URL: hubName(m[1]), Version: m[2], SHA256: m[3]}, err
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

const sha256Prefix = "sha256:"

// isDigest reports whether a text is "sha256:" and 64 hexadecimal digits.
func isDigest(s string) bool {
	sum, ok := strings.CutPrefix(s, sha256Prefix)
	return ok && isSHA256(sum)
}

func (f *Fetcher) oci(ctx context.Context, r Ref, out *Fetched, dir string) error {
	repo, err := f.registry(r)
	if err != nil {
		return err
	}
	return f.artifact(ctx, repo, r, out, dir)
}

// registry returns the repository of a reference. It sends nothing.
func (f *Fetcher) registry(r Ref) (*oci.Repository, error) {
	client, err := f.client(oci.Address(r.URL))
	if err != nil {
		return nil, err
	}
	return oci.Open(r.URL, client)
}

// artifact fetches the pinned or named manifest, for an index the manifest of this platform, and its content.
func (f *Fetcher) artifact(ctx context.Context, repo *oci.Repository, r Ref, out *Fetched, dir string) error {
	top := oci.Blob{Digest: oci.Digest(out.Manifest)}
	if r.SHA256 != "" {
		top.Digest = oci.Digest(sha256Prefix + r.SHA256)
	}
	path, err := f.kept(strings.TrimPrefix(top.Digest.String(), sha256Prefix))
	if err == nil && path == "" {
		top, err = f.resolveOCI(ctx, repo, r, top.Digest.String())
	}
	if err != nil {
		return err
	}
	out.Manifest, out.Version = top.Digest.String(), r.Version
	m, err := f.manifest(ctx, repo, r, top)
	if err != nil {
		return err
	}
	bundles := func(ctx context.Context, _ string) ([][]byte, error) { return repo.Bundles(ctx, top, maxSignatureFile) }
	if err := f.verify(ctx, &Artifact{Digest: out.Manifest, Signatures: bundles}, out); err != nil {
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
		return f.module(file, strings.TrimSuffix(filepath.Base(r.URL), ".wasm")+".wasm", out, dir)
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
	if err == nil && digest != "" && b.Digest.String() != digest {
		err = fmt.Errorf("%w: the registry has %s, but %s is pinned", ErrMismatch, b.Digest, digest)
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
		if was := pinned[name]; was != "" && was != b.Digest.String() {
			return nil, fmt.Errorf("%w: the index names %s for %s, but %s is pinned", ErrMismatch, b.Digest, name, was)
		}
		out.Platforms[name] = b.Digest.String()
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
	fetch := func(ctx context.Context, have int64, _ string) (*stream, error) {
		body, err := repo.Fetch(ctx, b)
		if err != nil {
			return nil, err
		}
		s := &stream{ReadCloser: body, host: r.Host(), size: b.Size, tag: b.Digest.String()}
		if seeker, ok := body.(io.Seeker); ok && have < b.Size {
			if _, err := seeker.Seek(have, io.SeekStart); err == nil {
				s.from = have
			}
		}
		return s, nil
	}
	path, _, err := f.receive(ctx, b.Digest.String(), strings.TrimPrefix(b.Digest.String(), sha256Prefix), fetch)
	return path, err
}

// Push stores a plugin in a registry under the tag of the reference, which must have one, and returns the reference with its digest. config
// describes it, content are its files as .tar.gz.
func (f *Fetcher) Push(ctx context.Context, r Ref, config, content []byte, annotations map[string]string) (Ref, error) {
	f, release := f.connected()
	defer release()
	repo, err := f.registry(r)
	if err != nil {
		return r, err
	}
	digest, err := repo.Push(ctx, r.Version, config, content, annotations)
	r.Version, r.SHA256 = "", strings.TrimPrefix(digest, sha256Prefix)
	return r, err
}
