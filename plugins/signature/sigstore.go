package signature

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/plugins/source"
)

// Program is the name of the program that checks bundles of Sigstore. It is part of a release of tenon.
const Program = "tenon-verify"

// verifyTimeout limits one check. It needs some milliseconds, and no network.
const verifyTimeout = 30 * time.Second

// Sigstore checks bundles of Sigstore with a program of its release.
type Sigstore struct {
	Path        string // of tenon-verify; empty: not found
	TrustedRoot string // path of a trusted_root.json; empty: that of the public instance, in the program
}

// FindSigstore returns the path of tenon-verify: next to an executable, links resolved, else in PATH, but not in the project; empty without one.
func FindSigstore(executable, project string) string {
	name := Program
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if real, err := filepath.EvalSymlinks(executable); err == nil {
		path := filepath.Join(filepath.Dir(real), name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	path, err := projectfs.LookPath(Program, project)
	if err != nil {
		return ""
	}
	return path
}

// verifyRequest and verifyAnswer are the protocol of cmd/tenon-verify.
type verifyRequest struct {
	Bundle      json.RawMessage `json:"bundle"`
	Digest      string          `json:"digest"`
	Identity    string          `json:"identity"` // a regular expression
	Issuer      string          `json:"issuer"`
	TrustedRoot string          `json:"trustedRoot,omitempty"`
}

type verifyAnswer struct {
	Identity string `json:"identity"`
	Issuer   string `json:"issuer"`
	Error    string `json:"error"`
}

// verify returns the signer of the first bundle that proves the identity. identity may have "*" for any characters.
func (s Sigstore) verify(ctx context.Context, a *source.Artifact, identity, issuer string) (string, error) {
	if s.Path == "" {
		return "", fmt.Errorf("%w; it checks the Sigstore signature that plugin_policy requires of %s", ErrNoVerifier, a.Ref)
	}
	bundles, err := a.Signatures(ctx, source.SigstoreSuffix)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if len(bundles) == 0 {
		return "", fmt.Errorf("%w: %s has no Sigstore bundle (%s next to a file, or a referrer in a registry; of cosign, version 3)", ErrSignature, a.Ref, source.SigstoreSuffix)
	}
	var problems []error
	for _, bundle := range bundles {
		answer, err := s.ask(ctx, verifyRequest{bundle, a.Digest, expression(identity), issuer, s.TrustedRoot})
		if err == nil && answer.Error == "" {
			return sigstoreForm + answer.Identity + " " + answer.Issuer, nil
		}
		if err == nil {
			err = errors.New(visible.Clean(answer.Error, maxText))
		}
		problems = append(problems, err)
	}
	return "", fmt.Errorf("%w: %s: %w", ErrSignature, a.Ref, errors.Join(problems...))
}

// ask runs the program once.
func (s Sigstore) ask(ctx context.Context, r verifyRequest) (*verifyAnswer, error) {
	in, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("the bundle is not JSON: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, verifyTimeout, fmt.Errorf("%s: no answer within %s", Program, verifyTimeout))
	defer cancel()
	cmd := exec.CommandContext(ctx, s.Path)
	child.Prepare(cmd)
	cmd.Env = []string{}
	cmd.Stdin = bytes.NewReader(in)
	out, err := source.Output(ctx, cmd, Program, nil)
	if err != nil {
		return nil, err
	}
	var answer verifyAnswer
	err = json.Unmarshal(out, &answer)
	if err == nil && answer.Error == "" && (answer.Identity == "" || answer.Issuer != r.Issuer) {
		err = errors.New("unexpected answer")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Program, err)
	}
	return &answer, nil
}
