package signature

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jedisct1/go-minisign"

	"github.com/tenonhq/tenon/internal/atomicfile"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/plugins/source"
)

// PublicKey is a public key of minisign.
type PublicKey struct {
	key  minisign.PublicKey
	text string // base64
}

// ParseKey reads a public key: its base64 form, or the content of a file of minisign.
func ParseKey(text string) (*PublicKey, error) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	key, err := minisign.NewPublicKey(last)
	if err != nil || key.SignatureAlgorithm != [2]byte{'E', 'd'} || len(lines) > 2 {
		return nil, fmt.Errorf("%q is not a public key of minisign, which begins with RW", visible.Cut(last, maxText, "…"))
	}
	return &PublicKey{key, last}, nil
}

// newKey returns a key with its text, see https://jedisct1.github.io/minisign/#public-key-format.
func newKey(key minisign.PublicKey) *PublicKey {
	data := slices.Concat(key.SignatureAlgorithm[:], key.KeyId[:], key.PublicKey[:])
	return &PublicKey{key, base64.StdEncoding.EncodeToString(data)}
}

// KeyOf returns the key of a recorded signer; nil if it is none.
func KeyOf(recorded string) *PublicKey {
	text, ok := strings.CutPrefix(recorded, minisignForm)
	if !ok {
		return nil
	}
	key, _ := ParseKey(text)
	return key
}

// String returns the key as pins record a signer.
func (k *PublicKey) String() string { return minisignForm + k.text }

func (k *PublicKey) verify(ctx context.Context, a *source.Artifact) (string, error) {
	if a.Path == "" {
		return "", fmt.Errorf("%w: %s: a registry has no signatures of minisign", ErrSignature, a.Ref)
	}
	found, err := a.Signatures(ctx, source.MinisignSuffix)
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "", fmt.Errorf("%w: %s has no %s next to it", ErrSignature, a.Ref, source.MinisignSuffix)
	}
	content, err := os.ReadFile(a.Path)
	if err != nil {
		return "", err
	}
	if err := k.check(content, found[0]); err != nil {
		return "", fmt.Errorf("%w: %s: %w", ErrSignature, a.Ref, err)
	}
	return k.String(), nil
}

// check checks a signature of content, see https://jedisct1.github.io/minisign/#signature-format.
func (k *PublicKey) check(content, data []byte) error {
	s, err := minisign.DecodeSignature(string(data))
	if err != nil {
		return fmt.Errorf("%s: %w", source.MinisignSuffix, err)
	}
	if s.KeyId != k.key.KeyId {
		return fmt.Errorf("signed with a different key than %s", k.text)
	}
	ok, err := k.key.Verify(content, s)
	if err == nil && !ok {
		err = errors.New("wrong signature")
	}
	return err
}

// ErrPassword is returned if the password of a key is missing or wrong.
var ErrPassword = errors.New("the key cannot be decrypted")

// Sign writes FILE.minisig next to a file, and returns its path and the public key. key is the content of a secret key file of minisign;
// password decrypts it. The same file and key always give the same signature.
func Sign(file, key, password string) (path string, public *PublicKey, err error) {
	secret, err := minisign.DecodePrivateKey(key)
	if err != nil {
		return "", nil, fmt.Errorf("not a secret key of minisign: %w", err)
	}
	defer secret.Wipe()
	if secret.IsEncrypted() {
		if err := secret.Decrypt(password); err != nil {
			return "", nil, fmt.Errorf("%w: %w", ErrPassword, err)
		}
	}
	s, err := secret.SignFile(file, minisign.SignOptions{Hashed: true, TrustedComment: "file:" + filepath.Base(file), UntrustedComment: "signature from tenon plugin sign"})
	if err != nil {
		return "", nil, err
	}
	path = file + source.MinisignSuffix
	return path, newKey(secret.PublicKey()), atomicfile.Write(path, s.Encode(), atomicfile.Options{Mode: 0o644})
}
