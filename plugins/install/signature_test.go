package install_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/tenonhq/tenon/plugins/install"
	"github.com/tenonhq/tenon/plugins/pins"
	"github.com/tenonhq/tenon/plugins/signature"
	"github.com/tenonhq/tenon/plugins/source"
	"github.com/tenonhq/tenon/sdk"
)

// verifier builds tenon-verify once.
var verifier = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "tenon-verify")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, signature.Program)
	cmd := exec.Command("go", "build", "-o", path, ".")
	cmd.Dir = filepath.Join("..", "..", "cmd", "tenon-verify")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := verifier(); err == nil {
		if err := os.RemoveAll(filepath.Dir(path)); err != nil {
			code = 1
		}
	}
	os.Exit(code)
}

// secretKey returns a secret key of minisign without a password, and the public key.
func secretKey(id byte) (secret, public string) {
	seed := bytes.Repeat([]byte{id}, ed25519.SeedSize)
	private := ed25519.NewKeyFromSeed(seed)
	number := []byte{id, 1, 2, 3, 4, 5, 6, 7}
	// See https://jedisct1.github.io/minisign/#secret-key-format: no derivation, so salt and limits are not used.
	key := slices.Concat([]byte("Ed\x00\x00B2"), make([]byte, 32), binary.LittleEndian.AppendUint64(nil, 0), binary.LittleEndian.AppendUint64(nil, 0), number, private, make([]byte, 32))
	publicKey := slices.Concat([]byte("Ed"), number, private.Public().(ed25519.PublicKey))
	return "untrusted comment: test\n" + base64.StdEncoding.EncodeToString(key) + "\n", base64.StdEncoding.EncodeToString(publicKey)
}

func (k *kit) policy(t *testing.T, c sdk.PluginPolicy, path string) {
	t.Helper()
	p, err := signature.New(c, signature.Sigstore{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	k.Policy = p
}

// serveSigned serves an archive and its signature by a key.
func (k *kit) serveSigned(t *testing.T, name, skillName, secret string) {
	t.Helper()
	data := zipOf(t, map[string]string{"plugin.json": `{"name": "signed"}`, ".claude-plugin/plugin.json": `{"name": "signed"}`, "skills/s/SKILL.md": skill(skillName)})
	file := filepath.Join(t.TempDir(), "a.zip")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	k.files[name] = data
	if secret == "" {
		delete(k.files, name+source.MinisignSuffix)
		return
	}
	path, _, err := signature.Sign(file, secret, "")
	if err != nil {
		t.Fatal(err)
	}
	if k.files[name+source.MinisignSuffix], err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
}

func TestMinisign(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	secret, public := secretKey(1)
	otherSecret, otherPublic := secretKey(2)
	ref := k.server.URL + "/a.zip"
	rule := func(key string) sdk.PluginPolicy {
		return sdk.PluginPolicy{Signers: []sdk.PluginSigner{{Sources: []string{k.server.URL}, Key: key}}}
	}
	k.policy(t, rule(public), "")
	k.serveSigned(t, "/a.zip", "one", secret)
	first, err := k.Stage(t.Context(), k.target, ref, nil)
	if err != nil || first.Signer != "minisign "+public {
		t.Fatalf("Stage() = %+v, %v", first, err)
	}
	// Restored without the server: the signature is in the cache.
	k.Fetcher.Offline = true
	if s, err := k.Stage(t.Context(), k.target, ref, &first.Plugin); err != nil || s.Signer != first.Signer {
		t.Errorf("from the cache: %+v, %v", s, err)
	}
	k.Fetcher.Offline = false
	refused := func(name string) {
		t.Helper()
		if s, err := k.Stage(t.Context(), k.target, ref, nil); !errors.Is(err, signature.ErrSignature) {
			t.Errorf("%s: %+v, %v, want ErrSignature", name, s, err)
		}
	}
	k.policy(t, rule(otherPublic), "")
	refused("a policy for another key")
	k.policy(t, rule(public), "")
	k.serveSigned(t, "/a.zip", "two", "")
	refused("no signature")
	k.serveSigned(t, "/a.zip", "two", otherSecret)
	refused("another signer")
	good := k.files["/a.zip"]
	k.serveSigned(t, "/a.zip", "three", secret)
	k.files["/a.zip"] = good
	refused("the signature of another file")
	for _, text := range []string{"", "x", "untrusted comment: x\nAAAA\ntrusted comment: y\nAAAA\n", strings.Repeat("\n", 1<<21)} {
		k.files["/a.zip"+source.MinisignSuffix] = []byte(text)
		if s, err := k.Stage(t.Context(), k.target, ref, nil); err == nil {
			t.Errorf("a damaged signature: %+v", s)
		}
	}
	// Without a policy, a key that the user gave stays the key for updates.
	k.Policy = signature.Policy{}
	k.serveSigned(t, "/a.zip", "four", secret)
	key, err := signature.ParseKey("untrusted comment: minisign public key\n" + public + "\n")
	if err != nil {
		t.Fatal(err)
	}
	k.Key = key
	pinned, err := k.Stage(t.Context(), k.target, ref, nil)
	if err != nil || pinned.Signer != "minisign "+public {
		t.Fatalf("with a key: %+v, %v", pinned, err)
	}
	k.Key = nil
	k.serveSigned(t, "/a.zip", "five", otherSecret)
	if s, err := k.Renew(t.Context(), k.target, pinned.Plugin); !errors.Is(err, signature.ErrSignature) {
		t.Errorf("an update by another signer: %+v, %v", s, err)
	}
	k.serveSigned(t, "/a.zip", "five", secret)
	if s, err := k.Renew(t.Context(), k.target, pinned.Plugin); err != nil || s.Digest == pinned.Digest || s.Signer != pinned.Signer {
		t.Errorf("an update by the same signer: %+v, %v", s, err)
	}
}

// TestClaimedSigner: a project's file can claim a signer for content that was fetched from elsewhere. It counts after its signature was checked.
func TestClaimedSigner(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	secret, public := secretKey(1)
	k.serveSigned(t, "/a.zip", "one", secret)
	unsigned, err := k.Stage(t.Context(), k.target, k.server.URL+"/a.zip", nil)
	if err != nil {
		t.Fatal(err)
	}
	k.policy(t, sdk.PluginPolicy{Signers: []sdk.PluginSigner{{Sources: []string{k.server.URL}, Key: public}}}, "")
	claim := unsigned.Plugin
	claim.Signer = "minisign " + public
	project := install.Target{Path: filepath.Join(t.TempDir(), pins.Name), Project: true}
	missing := func(want int) {
		t.Helper()
		list, err := k.Missing(t.Context(), project, &pins.File{Plugins: []pins.Plugin{claim}})
		if err != nil || len(list) != want {
			t.Errorf("Missing() = %d plugins, %v, want %d", len(list), err, want)
		}
	}
	missing(1)
	if _, err := k.Stage(t.Context(), project, claim.Ref, &claim); err != nil {
		t.Fatal(err)
	}
	missing(0)
	// The publisher may sign with more keys than the one that the file names. Any of those that the policy lists counts.
	_, other := secretKey(2)
	k.policy(t, sdk.PluginPolicy{Signers: []sdk.PluginSigner{{Sources: []string{k.server.URL}, Key: public}, {Sources: []string{k.server.URL}, Key: other}}}, "")
	claim.Signer = "minisign " + other
	missing(0)
	k.policy(t, sdk.PluginPolicy{Signers: []sdk.PluginSigner{{Sources: []string{k.server.URL}, Key: other}}}, "")
	missing(1)
}

// TestUnsigned checks that sources which carry no signature are refused if one is required, and denied sources before anything is fetched.
func TestUnsigned(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	_, public := secretKey(1)
	k.repository(t, "tools", map[string]string{".claude-plugin/plugin.json": `{"name": "tools"}`, "skills/a/SKILL.md": skill("a")})
	refs := []string{"git+" + k.server.URL + "/tools/.git", filepath.Join(k.top, "tools"), "github:owner/tools"}
	for _, ref := range refs {
		if _, err := k.Stage(t.Context(), k.target, ref, nil); err != nil {
			t.Errorf("%s: %v", ref, err)
		}
	}
	k.policy(t, sdk.PluginPolicy{Signers: []sdk.PluginSigner{{Sources: []string{"*"}, Key: public}}}, "")
	for _, ref := range refs {
		if s, err := k.Stage(t.Context(), k.target, ref, nil); !errors.Is(err, signature.ErrSignature) {
			t.Errorf("%s: %+v, %v, want ErrSignature", ref, s, err)
		}
	}
	// Content in the project's vendor directory claims a signer and has no signature.
	k.Policy = signature.Policy{}
	pinned, err := k.Stage(t.Context(), k.target, refs[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	pinned.Signer = "minisign " + public
	vendor := filepath.Join(t.TempDir(), "vendor")
	if err := k.Write(t.Context(), k.target, &pins.File{Plugins: []pins.Plugin{pinned.Plugin}}, vendor); err != nil {
		t.Fatal(err)
	}
	k.policy(t, sdk.PluginPolicy{Signers: []sdk.PluginSigner{{Sources: []string{"*"}, Key: public}}}, "")
	k.Vendor = vendor
	if s, err := k.Stage(t.Context(), k.target, pinned.Ref, &pinned.Plugin); !errors.Is(err, signature.ErrSignature) {
		t.Errorf("vendored: %+v, %v, want ErrSignature", s, err)
	}
	if hosts, err := k.Hosts(k.target, []pins.Plugin{pinned.Plugin}); err != nil || len(hosts) != 1 {
		t.Errorf("hosts %v, %v: it is fetched", hosts, err)
	}
	k.Vendor = ""
	k.policy(t, sdk.PluginPolicy{Allow: []string{"npm:*"}}, "")
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests++ }))
	t.Cleanup(server.Close)
	for _, ref := range append(refs, server.URL+"/a.zip", "git+"+server.URL+"/r", "oci://"+strings.TrimPrefix(server.URL, "http://")+"/r") {
		if s, err := k.Stage(t.Context(), k.target, ref, nil); !errors.Is(err, signature.ErrDenied) {
			t.Errorf("%s: %+v, %v, want ErrDenied", ref, s, err)
		}
	}
	if requests > 0 {
		t.Errorf("%d requests to a denied source", requests)
	}
}

func fixture(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestSigstore installs files and artifacts of a registry that are signed, with the real tenon-verify.
func TestSigstore(t *testing.T) {
	t.Parallel()
	path, err := verifier()
	if err != nil {
		t.Fatal(err)
	}
	k := newKit(t)
	images := registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true))
	server := httptest.NewServer(images)
	t.Cleanup(server.Close)
	archive, manifest, bundle := fixture(t, "signed.tar.gz"), fixture(t, "manifest.json"), fixture(t, "manifest.json"+source.SigstoreSuffix)
	for _, data := range [][]byte{[]byte("{}"), archive, bundle} {
		push(t, images, http.MethodPost, "/v2/o/p/blobs/uploads/?digest="+digestOf(data), "", data)
	}
	const manifestType = "application/vnd.oci.image.manifest.v1+json"
	push(t, images, http.MethodPut, "/v2/o/p/manifests/v1", manifestType, manifest)
	k.files["/signed.tar.gz"] = archive
	k.files["/signed.tar.gz"+source.SigstoreSuffix] = fixture(t, "signed.tar.gz"+source.SigstoreSuffix)
	image := "oci://" + strings.TrimPrefix(server.URL, "http://") + "/o/p:v1"
	require := func(fixture, identity string) sdk.PluginPolicy {
		root, err := filepath.Abs(filepath.Join("testdata", fixture+".trusted_root.json"))
		if err != nil {
			t.Fatal(err)
		}
		return sdk.PluginPolicy{TrustedRoot: root, Signers: []sdk.PluginSigner{{Sources: []string{"*"}, Identity: identity, Issuer: "https://token.actions.githubusercontent.com"}}}
	}
	const identity = "https://github.com/owner/repo/.github/workflows/release.yml@refs/tags/*"
	k.policy(t, require("manifest.json", identity), path)
	if s, err := k.Stage(t.Context(), k.target, image, nil); !errors.Is(err, signature.ErrSignature) {
		t.Errorf("no bundle yet: %+v, %v", s, err)
	}
	descriptor := func(kind string, data []byte) map[string]any {
		return map[string]any{"mediaType": kind, "digest": digestOf(data), "size": len(data)}
	}
	const bundleType = "application/vnd.dev.sigstore.bundle.v0.3+json"
	referrer, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": manifestType, "artifactType": bundleType, "config": descriptor("application/vnd.oci.empty.v1+json", []byte("{}")),
		"layers": []any{descriptor(bundleType, bundle)}, "subject": descriptor(manifestType, manifest),
	})
	if err != nil {
		t.Fatal(err)
	}
	push(t, images, http.MethodPut, "/v2/o/p/manifests/"+digestOf(referrer), manifestType, referrer)
	layout := layoutOf(t, [][]byte{[]byte("{}"), archive, manifest, bundle, referrer}, descriptor(manifestType, referrer), descriptor(manifestType, manifest))
	for ref, fixture := range map[string]string{image: "manifest.json", layout: "manifest.json", k.server.URL + "/signed.tar.gz": "signed.tar.gz"} {
		k.policy(t, require(fixture, identity), path)
		s, err := k.Stage(t.Context(), k.target, ref, nil)
		if err != nil || s.Name != "signed" || !strings.HasPrefix(s.Signer, "sigstore https://github.com/owner/repo/") || k.Policy.Accepts(source.Ref{Kind: source.NPM, URL: "x"}, s.Signer) != nil {
			t.Errorf("%s: %+v, %v", ref, s, err)
		}
		for name, c := range map[string]struct {
			policy sdk.PluginPolicy
			path   string
			want   error
		}{
			"another identity": {require(fixture, "https://github.com/other/*"), path, signature.ErrSignature},
			"another instance": {require("signed.tar.gz", identity), path, signature.ErrSignature},
			"the public one":   {sdk.PluginPolicy{Signers: require(fixture, identity).Signers}, path, signature.ErrSignature},
			"no program":       {require(fixture, identity), "", signature.ErrNoVerifier},
		} {
			if name == "another instance" && fixture == "signed.tar.gz" {
				c.policy = require("manifest.json", identity)
			}
			k.policy(t, c.policy, c.path)
			if s, err := k.Stage(t.Context(), k.target, ref, nil); !errors.Is(err, c.want) {
				t.Errorf("%s, %s: %+v, %v, want %v", ref, name, s, err, c.want)
			}
		}
	}
}

// layoutOf writes an OCI layout as it is copied from a registry: a signature, and the manifest with a tag.
func layoutOf(t *testing.T, blobs [][]byte, signature, tagged map[string]any) string {
	t.Helper()
	tagged["annotations"] = map[string]string{"org.opencontainers.image.ref.name": "v1"}
	index, err := json.Marshal(map[string]any{"schemaVersion": 2, "manifests": []any{signature, tagged}})
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"oci-layout": `{"imageLayoutVersion":"1.0.0"}`, "index.json": string(index)}
	for _, data := range blobs {
		files["blobs/sha256/"+strings.TrimPrefix(digestOf(data), "sha256:")] = string(data)
	}
	dir := t.TempDir()
	write(t, dir, files)
	return dir
}

func push(t *testing.T, to http.Handler, method, address, contentType string, data []byte) {
	t.Helper()
	req := httptest.NewRequest(method, address, bytes.NewReader(data))
	req.Header.Set("Content-Type", contentType)
	answer := httptest.NewRecorder()
	to.ServeHTTP(answer, req)
	if answer.Code >= 300 {
		t.Fatalf("%s: %d %s", address, answer.Code, answer.Body)
	}
}

func digestOf(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }
