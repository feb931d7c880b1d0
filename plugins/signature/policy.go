package signature

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"unicode"

	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/plugins/source"
	"github.com/tenonhq/tenon/sdk"
)

// Errors of policies.
var (
	// ErrPolicy is returned for an invalid policy. Without a valid policy, nothing may be installed or loaded.
	ErrPolicy = errors.New("invalid plugin_policy")
	// ErrDenied is returned for a source that the policy does not permit.
	ErrDenied = errors.New("refused by plugin_policy")
	// ErrSignature is returned for content without a valid signature of the signer that the policy requires.
	ErrSignature = errors.New("no valid signature")
	// ErrNoVerifier is returned if a signature of Sigstore is required and the program tenon-verify is missing.
	ErrNoVerifier = errors.New("tenon-verify not found")
)

// Policy is the plugin_policy of the configuration. The zero value permits everything and requires no signature. Safe for concurrent use.
type Policy struct {
	restricted  bool // only the sources in allow are permitted
	allow, deny []pattern
	signers     []signer
	key         *PublicKey // must sign everything, in addition to the signers; nil: none
	sigstore    Sigstore
}

// signer is the required signer of some sources.
type signer struct {
	sources []pattern
	key     *PublicKey // of minisign; nil: identity and issuer
	// identity and issuer are those of a certificate of Sigstore.
	identity, issuer string
}

// New returns the policy of a configuration. The error wraps ErrPolicy and names the field.
func New(c sdk.PluginPolicy, verifier Sigstore) (Policy, error) {
	p := Policy{restricted: c.Allow != nil, sigstore: verifier}
	p.sigstore.TrustedRoot = c.TrustedRoot
	if c.TrustedRoot != "" && !filepath.IsAbs(c.TrustedRoot) {
		return Policy{}, fmt.Errorf("%w: trusted_root: write an absolute path", ErrPolicy)
	}
	var err error
	if p.allow, err = patterns(c.Allow); err != nil {
		return Policy{}, fmt.Errorf("%w: allow: %w", ErrPolicy, err)
	}
	if p.deny, err = patterns(c.Deny); err != nil {
		return Policy{}, fmt.Errorf("%w: deny: %w", ErrPolicy, err)
	}
	for i, s := range c.Signers {
		rule, err := newSigner(s)
		if err != nil {
			return Policy{}, fmt.Errorf("%w: signers[%d]: %w", ErrPolicy, i, err)
		}
		p.signers = append(p.signers, *rule)
	}
	return p, nil
}

func newSigner(c sdk.PluginSigner) (*signer, error) {
	s := &signer{identity: c.Identity, issuer: c.Issuer}
	var err error
	if s.sources, err = patterns(c.Sources); err != nil {
		return nil, fmt.Errorf("sources: %w", err)
	}
	switch {
	case len(s.sources) == 0:
		return nil, errors.New(`sources: is missing; write ["*"] for all sources`)
	case c.Key != "" && c.Identity+c.Issuer != "", c.Key == "" && (c.Identity == "" || c.Issuer == ""):
		return nil, errors.New("write either key, or identity and issuer")
	case c.Key != "":
		s.key, err = ParseKey(c.Key)
	case strings.Trim(c.Identity, "*") == "":
		err = errors.New("identity: must not match every identity")
	}
	return s, err
}

// Allows returns an error that wraps ErrDenied if the policy does not permit a source.
func (p *Policy) Allows(r source.Ref) error {
	written := forms(r)
	if d := match(p.deny, written...); d != nil {
		return fmt.Errorf("%w: %s is denied by %q", ErrDenied, visible.Clean(written[0], maxText), d.text)
	}
	if location := r.Location(); p.restricted && match(p.allow, location) == nil {
		return fmt.Errorf("%w: %s is not in its list of allowed sources", ErrDenied, visible.Clean(location, maxText))
	}
	return nil
}

// Judge returns the function that judges the addresses that the servers of a source name; nil if the policy permits all sources. For archives,
// both lists apply. Registries pin the content that other servers send for them, so only denied addresses are refused there.
func (p *Policy) Judge(r source.Ref) func(to *url.URL) error {
	if !p.restricted && p.deny == nil {
		return nil
	}
	lists := *p
	lists.restricted = p.restricted && r.Kind == source.Archive
	return func(to *url.URL) error {
		if err := manifest.CheckSpelling(to); err != nil {
			return fmt.Errorf("%w: %s %w", ErrDenied, visible.Clean(to.Redacted(), maxText), err)
		}
		return lists.Allows(source.Ref{Kind: source.Archive, URL: to.String()})
	}
}

// Accepts returns an error if the policy does not permit a source, or requires a signer other than the one that was recorded when the
// content was fetched. Errors wrap ErrDenied or ErrSignature.
func (p *Policy) Accepts(r source.Ref, recorded string) error {
	if err := p.Allows(r); err != nil {
		return err
	}
	required := p.required(r)
	if len(required) > 0 && !slices.ContainsFunc(required, func(s signer) bool { return s.is(recorded) }) {
		return fmt.Errorf("%w: plugin_policy requires that %s signed it", ErrSignature, names(required))
	}
	return nil
}

// With returns a policy that requires the signature of a key in addition; nil changes nothing.
func (p *Policy) With(key *PublicKey) Policy {
	out := *p
	out.key = key
	return out
}

// Requires reports whether the policy names a signer for a source.
func (p *Policy) Requires(r source.Ref) bool { return len(p.required(r)) > 0 }

// Verify checks the signatures of an artifact, as source.Fetcher needs it. It returns the signer as pins record it; empty if no signature is
// required. Errors wrap ErrDenied, ErrSignature or ErrNoVerifier.
func (p *Policy) Verify(ctx context.Context, a *source.Artifact) (string, error) {
	if err := p.Allows(a.Ref); err != nil {
		return "", err
	}
	required := p.required(a.Ref)
	if p.key == nil && len(required) == 0 {
		return "", nil
	}
	if a.Digest == "" {
		return "", fmt.Errorf("%w: %s is required, and sources of kind %s are not signed", ErrSignature, names(append(required, signer{key: p.key})), a.Ref.Kind)
	}
	if p.key != nil {
		who, err := p.key.verify(ctx, a)
		if err != nil || len(required) == 0 {
			return who, err
		}
	}
	var problems []error
	for _, s := range required {
		who, err := s.verify(ctx, a, p.sigstore)
		if err == nil {
			return who, nil
		}
		problems = append(problems, err)
	}
	return "", errors.Join(problems...)
}

// required returns the signers of which one must have signed the content of a source.
func (p *Policy) required(r source.Ref) (out []signer) {
	written := forms(r)
	for _, s := range p.signers {
		if match(s.sources, written...) != nil {
			out = append(out, s)
		}
	}
	return out
}

func (s *signer) verify(ctx context.Context, a *source.Artifact, verifier Sigstore) (string, error) {
	if s.key != nil {
		return s.key.verify(ctx, a)
	}
	return verifier.verify(ctx, a, s.identity, s.issuer)
}

// The forms in which pins record signers.
const (
	minisignForm = "minisign "
	sigstoreForm = "sigstore "
)

// is reports whether a recorded signer is this signer.
func (s *signer) is(recorded string) bool {
	if s.key != nil {
		return recorded == s.key.String()
	}
	who, ok := strings.CutPrefix(recorded, sigstoreForm)
	identity, issuer, also := strings.Cut(who, " ")
	return ok && also && issuer == s.issuer && regexp.MustCompile("^(?:"+expression(s.identity)+")$").MatchString(identity)
}

func (s *signer) String() string {
	if s.key != nil {
		return s.key.String()
	}
	return sigstoreForm + s.identity + " " + s.issuer
}

func names(list []signer) string {
	var out []string
	for _, s := range list {
		if s.key != nil || s.issuer != "" {
			out = append(out, visible.Clean(s.String(), maxText))
		}
	}
	return strings.Join(out, " or ")
}

// maxText limits a source or signer in a message, in characters.
const maxText = 300

// pattern matches locations of sources. "*" is for any characters; a pattern also matches everything below what it names.
type pattern struct {
	text string
	*regexp.Regexp
}

func patterns(texts []string) ([]pattern, error) {
	var out []pattern
	for _, text := range texts {
		if strings.TrimSpace(text) == "" {
			return nil, errors.New("a pattern must not be empty")
		}
		if _, address, ok := strings.Cut(text, "://"); ok {
			host, _, _ := strings.Cut(address, "/")
			if strings.ContainsFunc(host, func(r rune) bool { return r > unicode.MaxASCII }) {
				return nil, fmt.Errorf("%q matches nothing: addresses have hosts in ASCII; write it as xn--…", text)
			}
		}
		form := strings.TrimSuffix(filepath.ToSlash(text), "/")
		other := form
		if name, ok := strings.CutPrefix(strings.ToLower(form), "oci://"); ok {
			form = "oci://" + source.OCILocation(name)
			other = form
			if hub, rest, ok := strings.Cut(form, "docker.io/"); ok && hub == "oci://" && !strings.Contains(rest, "/") {
				other = "oci://docker.io/library/" + rest // an owner, or an official repository
			}
		}
		for _, as := range []string{form, form + "/*"} { // a pattern for a host or an owner covers the references below it
			if r, err := source.Parse(as, "/", "/"); err == nil && r.Kind == source.Git && r.Version+r.Commit == "" {
				other = strings.TrimSuffix(r.Location(), "/*")
				break
			}
		}
		flags := "(?i)" // hosts, packages, GitHub and Windows ignore case
		if filepath.IsAbs(text) {
			other = realPath(form)
			if runtime.GOOS != "windows" {
				flags = ""
			}
		}
		re, err := regexp.Compile(flags + "^(?:" + expression(form) + "|" + expression(other) + ")(?:/.*)?$")
		if err != nil {
			return nil, err
		}
		out = append(out, pattern{text, re})
	}
	return out, nil
}

// realPath follows the links in a pattern for paths, up to the first wildcard.
func realPath(form string) string {
	fixed, _, wild := strings.Cut(form, "*")
	if wild {
		fixed = fixed[:strings.LastIndexByte(fixed, '/')]
	}
	return strings.TrimSuffix(filepath.ToSlash(projectfs.Real(fixed+"/")), "/") + form[len(fixed):]
}

// expression returns the regular expression of a text with "*" for any characters.
func expression(text string) string {
	return "(?s:" + strings.ReplaceAll(regexp.QuoteMeta(text), `\*`, ".*") + ")"
}

// forms returns the texts that deny and signers match: for a path, the path as written and with its links followed; for other sources,
// the location.
func forms(r source.Ref) []string {
	if r.Kind == source.Path {
		return []string{filepath.ToSlash(r.URL), r.Location()}
	}
	return []string{r.Location()}
}

// match returns the first pattern that matches one of the forms; nil without one.
func match(list []pattern, forms ...string) *pattern {
	for i := range list {
		if slices.ContainsFunc(forms, list[i].MatchString) {
			return &list[i]
		}
	}
	return nil
}
