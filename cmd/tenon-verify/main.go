// Command tenon-verify checks Sigstore bundles for tenon, which starts it when a policy requires one: it reads one request as JSON from
// standard input, writes one answer to standard output, and uses neither the network nor other files than the trusted root. It is a
// separate program and module because its libraries would slow down every start of tenon.
package main

import (
	"crypto/sha256"
	"crypto/sha512"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"
)

// publicGood is the trusted root of the public instance of Sigstore, from targets/trusted_root.json of
// https://github.com/sigstore/root-signing at commit c9bda74a of 2025-09-22.
//
//go:embed trusted_root.json
var publicGood []byte

// maxRequest bounds a request, in bytes. A bundle with an attestation has some tens of kilobytes.
const maxRequest = 8 << 20

// request is what to check.
type request struct {
	Bundle json.RawMessage `json:"bundle"`
	Digest string          `json:"digest"` // of the signed artifact: sha256: or sha512: and hexadecimal digits
	// Identity is a regular expression that the whole identity of the signer matches: an address of mail, or of a workflow.
	Identity    string `json:"identity"`
	Issuer      string `json:"issuer"`                // the issuer that confirmed the identity
	TrustedRoot string `json:"trustedRoot,omitempty"` // path of a trusted root; empty: that of the public instance
}

// answer has the signer, or the reason for a refusal.
type answer struct {
	Identity string `json:"identity,omitempty"`
	Issuer   string `json:"issuer,omitempty"`
	Error    string `json:"error,omitempty"`
}

func main() {
	a, err := check(os.Stdin)
	if err != nil {
		a = answer{Error: err.Error()}
	}
	if err := json.NewEncoder(os.Stdout).Encode(a); err != nil {
		os.Exit(1)
	}
}

func check(in io.Reader) (answer, error) {
	data, err := io.ReadAll(io.LimitReader(in, maxRequest+1))
	if err != nil {
		return answer{}, err
	}
	if len(data) > maxRequest {
		return answer{}, fmt.Errorf("the request has more than %d MiB", maxRequest>>20)
	}
	var r request
	if err := json.Unmarshal(data, &r); err != nil {
		return answer{}, fmt.Errorf("request: %w", err)
	}
	algorithm, text, _ := strings.Cut(r.Digest, ":")
	digest, err := hex.DecodeString(text)
	switch {
	case err != nil || len(digest) != map[string]int{"sha256": sha256.Size, "sha512": sha512.Size}[algorithm] || len(digest) == 0:
		return answer{}, errors.New("request: digest must be sha256: or sha512: and hexadecimal digits")
	case r.Identity == "" || r.Issuer == "":
		return answer{}, errors.New("request: identity and issuer are required; a valid signature alone does not show who signed")
	}
	trusted, err := trustedRoot(r.TrustedRoot)
	if err != nil {
		return answer{}, fmt.Errorf("trusted root: %w", err)
	}
	return r.verify(trusted, verify.WithArtifactDigest(algorithm, digest))
}

func trustedRoot(path string) (*root.TrustedRoot, error) {
	data := publicGood
	if path != "" {
		var err error
		if data, err = os.ReadFile(path); err != nil {
			return nil, err
		}
	}
	return root.NewTrustedRootFromJSON(data)
}

// verify requires an inclusion in a transparency log, a time that a log or an authority witnessed, and, if the trusted root has logs of
// certificates, a certificate that one of them published.
func (r *request) verify(trusted root.TrustedMaterial, artifact verify.ArtifactPolicyOption) (answer, error) {
	var b bundle.Bundle
	if err := b.UnmarshalJSON(r.Bundle); err != nil {
		return answer{}, fmt.Errorf("bundle: %w", err)
	}
	identity, err := verify.NewShortCertificateIdentity(r.Issuer, "", "", `^(?:`+r.Identity+`)$`)
	if err != nil {
		return answer{}, fmt.Errorf("identity: %w", err)
	}
	options := []verify.VerifierOption{verify.WithTransparencyLog(1), verify.WithObserverTimestamps(1)}
	if len(trusted.CTLogs()) > 0 {
		options = append(options, verify.WithSignedCertificateTimestamps(1))
	}
	v, err := verify.NewVerifier(trusted, options...)
	if err != nil {
		return answer{}, err
	}
	result, err := v.Verify(&b, verify.NewPolicy(artifact, verify.WithCertificateIdentity(identity)))
	if err != nil {
		return answer{}, err
	}
	certificate := result.Signature.Certificate
	return answer{Identity: certificate.SubjectAlternativeName, Issuer: certificate.Issuer}, nil
}
