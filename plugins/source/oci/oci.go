// Package oci reads and writes plugins in OCI registries, and reads them in OCI layout directories. It wraps oras-go. A plugin is one
// layer of a manifest: a .tar.gz of its files or a WASM module.
package oci

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	specs "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/tenonhq/tenon/internal/httpx"
	"github.com/tenonhq/tenon/internal/visible"
)

// Media types of plugins. The first two are tenon's, the others are read too.
const (
	ArtifactType = "application/vnd.tenon.plugin.v1"
	ContentType  = "application/vnd.tenon.plugin.content.v1.tar+gzip"
	ConfigType   = "application/vnd.tenon.plugin.config.v1+json"
	ModuleType   = "application/wasm" // see https://tag-runtime.cncf.io/wgs/wasm/deliverables/wasm-oci-artifact
)

// ErrArtifact is returned for artifacts that are not plugins.
var ErrArtifact = errors.New("not a plugin")

// OfServer reports whether an error is an answer of a registry, or means that the registry requires credentials that the
// user does not have.
func OfServer(err error) bool {
	_, answer := errors.AsType[*errcode.ErrorResponse](err)
	return answer || errors.Is(err, errdef.ErrNotFound) || errors.Is(err, auth.ErrBasicCredentialNotFound)
}

// maxManifest limits a manifest, in bytes: registries accept 4 MiB,
// see https://github.com/opencontainers/distribution-spec/blob/main/spec.md#pushing-manifests.
const maxManifest = 4 << 20

// Repository is a repository of a registry, or a layout directory.
type Repository struct{ place }

// place has the methods that registries and layouts share.
type place interface {
	// Fetch opens a blob. Its content is not checked.
	Fetch(ctx context.Context, d specs.Descriptor) (io.ReadCloser, error)
	Resolve(ctx context.Context, reference string) (specs.Descriptor, error)
	// referrers returns the manifests that can be signatures of a manifest.
	referrers(ctx context.Context, of specs.Descriptor) ([]specs.Descriptor, error)
}

// server is a repository of a registry.
type server struct{ *remote.Repository }

// Open returns the repository with a name such as ghcr.io/owner/plugin. It sends no request. The credentials are
// those of the user's Docker.
func Open(name string, client *http.Client) (*Repository, error) {
	repo, err := remote.NewRepository(name)
	if err != nil {
		return nil, err
	}
	store, err := credentials.NewStoreFromDocker(credentials.StoreOptions{})
	if err != nil {
		return nil, fmt.Errorf("credentials of docker: %w", err)
	}
	c := &auth.Client{Client: client, Cache: auth.NewCache(), Credential: credentials.Credential(store)}
	if Loopback(name) {
		repo.PlainHTTP = true
		c.BlockedRealmPrefixes = []netip.Prefix{}
	}
	repo.Client, repo.ReferrerListMaxPages = c, maxPages
	return &Repository{server{repo}}, nil
}

// Address returns the address of the registry that Open uses for a name.
func Address(name string) string {
	host, _, _ := strings.Cut(name, "/")
	scheme := "https://"
	if Loopback(name) {
		scheme = "http://"
	}
	return scheme + registry.Reference{Registry: host}.Host()
}

// Valid reports whether a text names a repository of a registry: host/path.
func Valid(name string) bool {
	r, err := registry.ParseReference(name)
	return err == nil && r.Reference == "" && r.Registry != ""
}

// Loopback reports whether a repository is on this machine, where registries need no encryption.
func Loopback(name string) bool {
	host, _, _ := strings.Cut(name, "/")
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return httpx.Loopback(strings.Trim(host, "[]"))
}

// Resolve returns the manifest of a tag or a digest.
func (r *Repository) Resolve(ctx context.Context, reference string) (Blob, error) {
	d, err := r.place.Resolve(ctx, reference)
	switch {
	case err != nil:
		return Blob{}, err
	case d.Size > maxManifest:
		return Blob{}, fmt.Errorf("manifest of %d bytes; at most %d", d.Size, maxManifest)
	}
	return d, checkDigest(d.Digest)
}

// Blob is content with a digest.
type Blob = specs.Descriptor

// Digest is "sha256:" and 64 hexadecimal digits.
type Digest = digest.Digest

func checkDigest(d digest.Digest) error {
	if err := d.Validate(); err != nil || d.Algorithm() != digest.SHA256 {
		return fmt.Errorf("digest %q is not a SHA-256", visible.Clean(d.String(), 100))
	}
	return nil
}

// Manifest is a decoded manifest or index.
type Manifest struct {
	// Platforms are the manifests of an index by platform, such as linux/amd64; "" is for all others. Nil for a manifest.
	Platforms map[string]Blob
	// Content is the layer with the plugin; zero for an index.
	Content Blob
	Module  bool // the content is a WASM module, not a .tar.gz
}

// Choose returns the manifest for a platform.
func (m *Manifest) Choose(platform string) (Blob, error) {
	for _, name := range []string{platform, ""} {
		if b, ok := m.Platforms[name]; ok {
			return b, nil
		}
	}
	return Blob{}, fmt.Errorf("%w for %s", ErrArtifact, platform)
}

// Decode decodes a manifest or an index. Errors wrap ErrArtifact.
func Decode(data []byte) (*Manifest, error) {
	var m struct {
		specs.Manifest
		Manifests []specs.Descriptor `json:"manifests"`
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("%w: manifest: %w", ErrArtifact, err)
	}
	if m.Manifests != nil {
		return decodeIndex(m.Manifests)
	}
	out := &Manifest{}
	isImage := slices.Contains([]string{specs.MediaTypeImageConfig, "application/vnd.docker.container.image.v1+json"}, m.Config.MediaType)
	if m.ArtifactType == "" && isImage {
		return nil, fmt.Errorf("%w: a container image; an MCP server in it starts with: tenon mcp add NAME -- docker run -i --rm IMAGE", ErrArtifact)
	}
	for _, l := range m.Layers {
		module := l.MediaType == ModuleType
		if !module && !strings.HasSuffix(l.MediaType, "tar+gzip") && !strings.HasSuffix(l.MediaType, "tar.gzip") {
			continue
		}
		if out.Content.Digest != "" {
			return nil, fmt.Errorf("%w: several layers with content; expected one", ErrArtifact)
		}
		if err := checkDigest(l.Digest); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrArtifact, err)
		}
		out.Content, out.Module = l, module
	}
	if out.Content.Digest == "" {
		return nil, fmt.Errorf("%w: %d layers, none of type %s or %s", ErrArtifact, len(m.Layers), ContentType, ModuleType)
	}
	return out, nil
}

func decodeIndex(list []specs.Descriptor) (*Manifest, error) {
	out := &Manifest{Platforms: map[string]Blob{}}
	for _, d := range list {
		if err := checkDigest(d.Digest); err != nil || d.Size < 0 || d.Size > maxManifest {
			return nil, errors.Join(fmt.Errorf("%w: index: unusable manifest of %d bytes", ErrArtifact, d.Size), err)
		}
		name := ""
		if p := d.Platform; p != nil && p.Architecture != "wasm" {
			name = p.OS + "/" + p.Architecture
		}
		if _, ok := out.Platforms[name]; !ok {
			out.Platforms[name] = d
		}
	}
	return out, nil
}

// Push stores a plugin under a tag and returns the digest of its manifest. config describes the plugin, archive are its files as .tar.gz.
// The same input gives the same digest.
func (r *Repository) Push(ctx context.Context, tag string, config, archive []byte, annotations map[string]string) (string, error) {
	remote, ok := r.place.(server)
	if !ok {
		return "", errors.New("cannot push to an OCI layout")
	}
	m := specs.Manifest{MediaType: specs.MediaTypeImageManifest, ArtifactType: ArtifactType, Annotations: annotations}
	m.SchemaVersion = 2
	m.Config = content.NewDescriptorFromBytes(ConfigType, config)
	m.Layers = []specs.Descriptor{content.NewDescriptorFromBytes(ContentType, archive)}
	for d, data := range map[*specs.Descriptor][]byte{&m.Config: config, &m.Layers[0]: archive} {
		exists, err := remote.Blobs().Exists(ctx, *d)
		if err == nil && !exists {
			err = remote.Blobs().Push(ctx, *d, strings.NewReader(string(data)))
		}
		if err != nil {
			return "", err
		}
	}
	data, err := json.Marshal(m)
	if err != nil {
		return "", err
	}
	d := content.NewDescriptorFromBytes(m.MediaType, data)
	return d.Digest.String(), remote.PushReference(ctx, d, strings.NewReader(string(data)), tag)
}

// bundleType is the start of the media types of Sigstore bundles, which are the artifact types of their manifests too, see
// https://github.com/sigstore/cosign/blob/main/specs/BUNDLE_SPEC.md.
const bundleType = "application/vnd.dev.sigstore.bundle"

// maxBundles limits the bundles that a registry lists for one manifest, maxPages the pages of the list.
const (
	maxBundles = 20
	maxPages   = 100
)

// Bundles returns the Sigstore bundles that refer to a manifest, each of at most maxBytes.
func (r *Repository) Bundles(ctx context.Context, of Blob, maxBytes int64) ([][]byte, error) {
	referrers, err := r.referrers(ctx, of)
	if err != nil {
		return nil, err
	}
	var out [][]byte
	for _, d := range referrers {
		data, err := r.bundle(ctx, d, of, maxBytes)
		if err != nil {
			return nil, err
		}
		if data != nil {
			out = append(out, data)
		}
	}
	return out, nil
}

// referrers asks the registry for the signatures of a manifest.
func (s server) referrers(ctx context.Context, of specs.Descriptor) (out []specs.Descriptor, err error) {
	err = s.Referrers(ctx, of, "", func(list []specs.Descriptor) error {
		for _, d := range list {
			// Some registries list the type of the empty configuration instead of the artifact's.
			if (isBundle(d) || d.ArtifactType == specs.MediaTypeEmptyJSON) && len(out) < maxBundles {
				out = append(out, d)
			}
		}
		return nil
	})
	return out, err
}

// bundle returns the only layer of a manifest; nil if it is not a bundle that refers to the manifest of.
func (r *Repository) bundle(ctx context.Context, d specs.Descriptor, of Blob, maxBytes int64) ([]byte, error) {
	if d.Size > maxManifest {
		return nil, fmt.Errorf("signature manifest of %d bytes; at most %d", d.Size, maxManifest)
	}
	data, err := content.FetchAll(ctx, r.place, d)
	var m specs.Manifest
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil {
		return nil, err
	}
	if len(m.Layers) != 1 || !strings.HasPrefix(m.Layers[0].MediaType, bundleType) || m.Subject == nil || m.Subject.Digest != of.Digest {
		return nil, nil
	}
	if m.Layers[0].Size > maxBytes {
		return nil, fmt.Errorf("signature manifest %s: bundle of %d bytes; at most %d", d.Digest, m.Layers[0].Size, maxBytes)
	}
	return content.FetchAll(ctx, r.place, m.Layers[0])
}
