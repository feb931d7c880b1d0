//go:build unix

package signature_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/plugins/signature"
	"github.com/tenonhq/tenon/plugins/source"
	"github.com/tenonhq/tenon/sdk"
)

// The error for a program that fails contains its messages. A child that keeps its output open does not delay the answer. An answer about no
// signer, or one of another issuer, verifies nothing, and content without a digest is not signed.
func TestBrokenVerifier(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"echo library missing >&2; exit 127": "tenon-verify: exit status 127: library missing",
		"head -c 20000000 /dev/zero":         "tenon-verify: more than 16 MiB of output",
		"echo '{}'":                          "tenon-verify: unexpected answer",
		`echo '{"identity": "me@example.com", "issuer": "https://other.example.com"}'`: "tenon-verify: unexpected answer",
		`echo '{"error": "expired"}'`: ": expired",
		`echo '{"identity": "me@example.com", "issuer": "https://accounts.example.com"}'`:           "",
		`sleep 5 & echo '{"identity": "me@example.com", "issuer": "https://accounts.example.com"}'`: "",
	} {
		path := filepath.Join(t.TempDir(), signature.Program)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		signer := sdk.PluginSigner{Sources: []string{"*"}, Identity: "me@example.com", Issuer: "https://accounts.example.com"}
		p, err := signature.New(sdk.PluginPolicy{Signers: []sdk.PluginSigner{signer}}, signature.Sigstore{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		a := &source.Artifact{Ref: ref(t, "https://example.com/a.wasm"), Digest: "sha256:00", Signatures: func(context.Context, string) ([][]byte, error) {
			return [][]byte{[]byte("{}")}, nil
		}}
		if _, err := p.Verify(t.Context(), a); (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: Verify() = %v, want %q", script, err, want)
		}
		if _, err := p.Verify(t.Context(), &source.Artifact{Ref: ref(t, "npm:a")}); !errors.Is(err, signature.ErrSignature) {
			t.Errorf("without a digest: Verify() = %v, want ErrSignature", err)
		}
	}
}
