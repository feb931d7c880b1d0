package oci

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	specs "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
)

// bundleType is the start of the media types of Sigstore bundles, which are the artifact types of their manifests too, see
// https://github.com/sigstore/cosign/blob/main/specs/BUNDLE_SPEC.md.
const bundleType = "application/vnd.dev.sigstore.bundle"

// maxBundles limits the bundles that a registry lists for one manifest.
const maxBundles = 20

// Bundles returns the Sigstore bundles that refer to a manifest, each of at most maxBytes.
func (r *Repository) Bundles(ctx context.Context, of Blob, maxBytes int64) ([][]byte, error) {
	referrers, err := r.referrers(ctx, of.descriptor())
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
	if len(m.Layers) != 1 || !strings.HasPrefix(m.Layers[0].MediaType, bundleType) || m.Subject == nil || m.Subject.Digest.String() != of.Digest {
		return nil, nil
	}
	if m.Layers[0].Size > maxBytes {
		return nil, fmt.Errorf("signature manifest %s: bundle of %d bytes; at most %d", d.Digest, m.Layers[0].Size, maxBytes)
	}
	return content.FetchAll(ctx, r.place, m.Layers[0])
}
