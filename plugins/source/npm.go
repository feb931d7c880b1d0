package source

import (
	"cmp"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"deps.dev/util/semver"

	"github.com/tenonhq/tenon/internal/httpx"
	"github.com/tenonhq/tenon/internal/visible"
)

const (
	defaultRegistry = "https://registry.npmjs.org"
	// packumentType is the short form of a package's description.
	packumentType = "application/vnd.npm.install-v1+json"
	maxPackument  = 32 << 20 // bytes; packages with thousands of versions have over 10 MiB
)

// packument is the description of a package, see https://github.com/npm/registry/blob/main/docs/responses/package-metadata.md.
type packument struct {
	Tags     map[string]string `json:"dist-tags"`
	Versions map[string]struct {
		Dist struct {
			Tarball   string `json:"tarball"`
			Integrity string `json:"integrity"`
		} `json:"dist"`
	} `json:"versions"`
}

// npm downloads the tarball of a package.
func (f *Fetcher) npm(ctx context.Context, r Ref, out *Fetched, dir string) error {
	switch {
	case out.Integrity == "":
		if err := f.resolveNPM(ctx, r, out); err != nil {
			return err
		}
	case f.Guarded && !f.Offline:
		// A repository's pin names the tarball. The registry must name the same one for this version.
		said := &Fetched{}
		if err := f.resolveNPM(ctx, Ref{Kind: NPM, URL: r.URL, Version: out.Version}, said); err != nil {
			return err
		}
		if said.Integrity != out.Integrity || said.URL != out.URL {
			return fmt.Errorf("%w: the registry names another tarball for version %s", ErrMismatch, out.Version)
		}
	}
	want, err := sha512Of(out.Integrity)
	if err != nil {
		return err
	}
	registry, tarball, err := f.tarball(out.URL)
	if err != nil {
		return err
	}
	authorization := ""
	if httpx.SameOrigin(registry, tarball) {
		authorization = f.npmHeader("")["Authorization"]
	}
	file, sum, err := f.download(ctx, registry.String(), tarball.String(), out.SHA256, authorization)
	if err != nil {
		return err
	}
	if err := checkSHA512(file, want); err != nil {
		return errors.Join(err, os.Remove(file))
	}
	out.SHA256 = sum
	if err := f.unpack(ctx, file, "tar.gz", out, dir); err != nil {
		return err
	}
	return f.npmTree(ctx, out, dir)
}

// RegistryURL returns the address of the npm registry.
func (f *Fetcher) RegistryURL() string {
	return cmp.Or(strings.TrimSuffix(f.Registry, "/"), defaultRegistry)
}

// tarball checks the address of a tarball: it is the registry's, or public when a repository names it.
func (f *Fetcher) tarball(address string) (registry, tarball *url.URL, err error) {
	if registry, err = url.Parse(f.RegistryURL()); err != nil {
		return nil, nil, fmt.Errorf("npm registry: %w", err)
	}
	if tarball, err = url.Parse(address); err != nil {
		return nil, nil, err
	}
	if tarball.User != nil || tarball.Host == "" || secure(tarball) != nil || tarball.Scheme != "https" && tarball.Scheme != "http" {
		return nil, nil, fmt.Errorf("the registry names an unusable tarball: %s", visible.Clean(tarball.Redacted(), 200))
	}
	return registry, tarball, nil
}

// resolveNPM finds the version that a range or a tag names.
func (f *Fetcher) resolveNPM(ctx context.Context, r Ref, out *Fetched) error {
	data, err := f.get(ctx, f.RegistryURL()+"/"+strings.ReplaceAll(r.URL, "/", "%2f"), f.npmHeader(packumentType), maxPackument)
	if err != nil {
		return err
	}
	var p packument
	if err := json.Unmarshal(data, &p); err != nil {
		return fmt.Errorf("unexpected answer of the npm registry: %w", err)
	}
	version, err := p.choose(r.Version)
	if err != nil {
		return err
	}
	dist := p.Versions[version].Dist
	out.Version, out.URL, out.Integrity = version, dist.Tarball, dist.Integrity
	return nil
}

// choose returns the version for a tag, an exact version or a range; the highest without one that is tagged latest and matches.
func (p *packument) choose(text string) (string, error) {
	text = cmp.Or(text, "latest")
	if v, ok := p.Tags[text]; ok {
		text = v
	}
	if _, ok := p.Versions[text]; ok {
		return text, nil
	}
	want, err := semver.NPM.ParseConstraint(text)
	if err != nil {
		return "", fmt.Errorf("no version or tag %q, and not a range: %w", text, err)
	}
	var fits []string
	for name := range p.Versions {
		if exactVersion(name) && want.Match(name) {
			fits = append(fits, name)
		}
	}
	if len(fits) == 0 {
		return "", fmt.Errorf("no version matches %q among %d", text, len(p.Versions))
	}
	// The registry's latest wins when it fits: later versions may be for testing.
	if latest := p.Tags["latest"]; slices.Contains(fits, latest) {
		return latest, nil
	}
	return slices.MaxFunc(fits, semver.NPM.Compare), nil
}

// exactVersion reports whether text is a version of npm in its one form, not a range.
func exactVersion(text string) bool {
	v, err := semver.NPM.Parse(text)
	return err == nil && v.Canon(true) == text
}

// sha512Of returns the digest in an integrity of the form "sha512-BASE64", see https://www.w3.org/TR/SRI. Older digests prove too little.
func sha512Of(integrity string) ([]byte, error) {
	for text := range strings.FieldsSeq(integrity) {
		if encoded, ok := strings.CutPrefix(text, "sha512-"); ok {
			if sum, err := base64.StdEncoding.DecodeString(encoded); err == nil && len(sum) == sha512.Size {
				return sum, nil
			}
		}
	}
	return nil, fmt.Errorf("the registry has no SHA-512 of the package: integrity %q", visible.Clean(integrity, 200))
}

func checkSHA512(path string, want []byte) error {
	sum, err := digest(path, sha512.New())
	if err == nil && !slices.Equal(sum, want) {
		err = fmt.Errorf("%w: the tarball has another SHA-512 than the registry says", ErrMismatch)
	}
	return err
}
