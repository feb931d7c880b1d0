package signature

import (
	"crypto/ed25519"
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Only what was signed passes, whatever the file of the signature contains.
func FuzzSignature(f *testing.F) {
	secret := slices.Concat([]byte("Ed\x00\x00B2"), make([]byte, 48), []byte("12345678"), ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)), make([]byte, 32))
	file := filepath.Join(f.TempDir(), "file")
	if err := os.WriteFile(file, []byte("content"), 0o600); err != nil {
		f.Fatal(err)
	}
	path, key, err := Sign(file, "untrusted comment: secret\n"+base64.StdEncoding.EncodeToString(secret), "")
	if err != nil {
		f.Fatal(err)
	}
	valid, err := os.ReadFile(path)
	if err != nil || key.check([]byte("content"), valid) != nil {
		f.Fatal("a valid signature is refused")
	}
	f.Add([]byte("content"), valid, key.text)
	f.Add([]byte("changed"), valid, "untrusted comment: minisign public key\r\n"+key.text)
	f.Add([]byte("content"), valid[:len(valid)-10], "RW")
	f.Add([]byte{}, []byte("untrusted comment: x\nRUQ=\ntrusted comment: y\nAA=="), "")
	f.Fuzz(func(t *testing.T, content, signature []byte, public string) {
		if key.check(content, signature) == nil && string(content) != "content" {
			t.Errorf("%q passes with %q", content, signature)
		}
		if k, err := ParseKey(public); err == nil && KeyOf(k.String()) == nil {
			t.Errorf("key %q is recorded as %q", public, k)
		}
	})
}
