package source

import (
	"context"
	"net/url"
	"os"

	"github.com/tenonhq/tenon/internal/atomicfile"
)

// Artifact is the content that its publisher signs: a file, or the manifest in a registry.
type Artifact struct {
	Ref    Ref
	Digest string // "sha256:" and 64 hexadecimal digits; empty: sources of this kind have no signatures
	Path   string // of the file; empty for a manifest
	// Signatures returns the signatures of the kind with this suffix, if any: the content of the file with the suffix, or the bundles that
	// refer to the manifest. Nil for sources without signatures.
	Signatures func(ctx context.Context, suffix string) ([][]byte, error)
}

// The suffixes of signatures. A manifest has only bundles of Sigstore.
const (
	MinisignSuffix = ".minisig"
	SigstoreSuffix = ".sigstore.json"
)

// maxSignatureFile limits a signature, in bytes. Bundles with an attestation have some tens of kilobytes.
const maxSignatureFile = 1 << 20

// verify calls Verify and keeps its result in the pin.
func (f *Fetcher) verify(ctx context.Context, a *Artifact, out *Fetched) error {
	if f.Verify == nil {
		return nil
	}
	a.Ref, out.verified = out.ref, true
	var err error
	out.Signer, err = f.Verify(ctx, a)
	return err
}

// besideURL returns a function that reads the signatures next to a file behind an URL. With cached, it prefers the cache: the file is
// pinned, and was verified before.
func (f *Fetcher) besideURL(address, sum string, cached bool) func(context.Context, string) ([]byte, error) {
	return func(ctx context.Context, suffix string) ([]byte, error) {
		path, ok, err := f.cached("signatures", sum+suffix)
		if err != nil {
			return nil, err
		}
		if ok && (cached || f.Offline) {
			return os.ReadFile(path)
		}
		u, err := url.Parse(address)
		if err != nil {
			return nil, err
		}
		u.Path, u.RawPath = u.Path+suffix, u.EscapedPath()+suffix
		data, err := f.get(ctx, u.String(), nil, maxSignatureFile)
		if err != nil {
			return nil, err
		}
		return data, atomicfile.Write(path, data, atomicfile.Options{})
	}
}
