package oci

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	specs "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tenonhq/tenon/internal/projectfs"
)

// IsLayout reports whether a directory is an OCI layout.
func IsLayout(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, specs.ImageLayoutFile))
	return err == nil
}

// Layout returns the layout in a directory. It has one artifact, or one for each platform, and optionally their signatures.
func Layout(dir string) *Repository {
	return &Repository{layout(dir)}
}

type layout string

// Fetch opens a blob.
func (l layout) Fetch(_ context.Context, d specs.Descriptor) (io.ReadCloser, error) {
	if err := d.Digest.Validate(); err != nil {
		return nil, err
	}
	file, _, err := projectfs.OpenRegular(filepath.Join(string(l), specs.ImageBlobsDir, d.Digest.Algorithm().String(), d.Digest.Encoded()))
	return file, err
}

// index returns the manifests that index.json lists: tagged manifests, their parts, and manifests that refer to them.
func (l layout) index() ([]specs.Descriptor, error) {
	var index specs.Index
	data, err := projectfs.ReadRegular(filepath.Join(string(l), specs.ImageIndexFile), maxManifest)
	if err == nil {
		err = json.Unmarshal(data, &index)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", specs.ImageIndexFile, err)
	}
	return index.Manifests, nil
}

// Resolve returns the manifest with a digest. Without a digest, it returns the only tagged manifest, or else the only one that is not
// a signature.
func (l layout) Resolve(_ context.Context, reference string) (specs.Descriptor, error) {
	all, err := l.index()
	if err != nil {
		return specs.Descriptor{}, err
	}
	tagged := slices.ContainsFunc(all, isTagged)
	var found []specs.Descriptor
	for _, d := range all {
		wanted := d.Digest.String() == reference
		if reference == "" {
			wanted = isTagged(d) || !tagged && !isBundle(d)
		}
		if wanted && !slices.ContainsFunc(found, func(o specs.Descriptor) bool { return o.Digest == d.Digest }) {
			found = append(found, d)
		}
	}
	if len(found) != 1 {
		return specs.Descriptor{}, fmt.Errorf("%w: the layout has %d artifacts; expected the one to install", ErrArtifact, len(found))
	}
	return found[0], nil
}

func isTagged(d specs.Descriptor) bool { return d.Annotations[specs.AnnotationRefName] != "" }

// maxReferrers limits the manifests of a layout that are read to find signatures. It allows a release for many platforms with its bundles.
const maxReferrers = 100

// referrers returns the manifests that can be signatures. Which one each signs is in its content.
func (l layout) referrers(_ context.Context, _ specs.Descriptor) ([]specs.Descriptor, error) {
	all, err := l.index()
	all = slices.DeleteFunc(all, func(d specs.Descriptor) bool { return d.ArtifactType != "" && !isBundle(d) || isTagged(d) })
	return all[:min(len(all), maxReferrers)], err
}

// isBundle reports whether a manifest is listed as a Sigstore bundle.
func isBundle(d specs.Descriptor) bool { return strings.HasPrefix(d.ArtifactType, bundleType) }
