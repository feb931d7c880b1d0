package source

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"deps.dev/util/semver"

	"github.com/tenonhq/tenon/internal/httpx"
	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/plugins/manifest"
)

const (
	defaultRegistry = "https://registry.npmjs.org"
	// packumentType is the short form of a package's description.
	packumentType = "application/vnd.npm.install-v1+json"
	maxPackument  = 32 << 20 // bytes; packages with thousands of versions have over 10 MiB
	maxVersions   = 100_000  // of a package, with its tags; each is decoded and compared
)

// ErrRegistry is returned for an answer of an npm registry that cannot be used.
var ErrRegistry = errors.New("unexpected answer of the npm registry")

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
	registry, err := f.RegistryOf(r.URL)
	if err != nil && out.Integrity != "" && (f.Offline || !f.Guarded) {
		err = f.unlessKept(err, out.SHA256)
	}
	if err != nil {
		return err
	}
	switch {
	case out.Integrity == "":
		if err := f.resolveNPM(ctx, registry, r, out); err != nil {
			return err
		}
	case f.Guarded && !f.Offline:
		// A repository's pin names the tarball. The registry must name the same one for this version.
		said := &Fetched{}
		if err := f.resolveNPM(ctx, registry, Ref{Kind: NPM, URL: r.URL, Version: out.Version}, said); err != nil {
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
	tarball, err := url.Parse(out.URL)
	if err != nil {
		return err
	}
	if _, err := FileRef(out.URL); err != nil {
		return fmt.Errorf("%w: unusable address of the tarball: %s: %w", ErrRegistry, visible.Clean(tarball.Redacted(), 200), err)
	}
	file, sum, err := f.download(ctx, registry.URL, out.URL, out.SHA256, registry.authorization(out.URL))
	if err != nil {
		return err
	}
	if have, err := sumFile(file, want); err != nil || have != want {
		return errors.Join(fmt.Errorf("%w: the SHA-512 of the tarball is not the one that the registry names", ErrMismatch), err, os.Remove(file))
	}
	out.SHA256 = sum
	if err := f.unpack(ctx, file, "tar.gz", out, dir); err != nil {
		return err
	}
	if _, err := manifest.ReadNamed(dir, "plugin"); f.Described && (errors.Is(err, manifest.ErrNone) || errors.Is(err, manifest.ErrNoEquivalent)) {
		return err // before its dependencies are fetched, which takes long
	}
	return f.npmTree(ctx, out, dir)
}

// NPMRegistry is the registry of a package.
type NPMRegistry struct {
	URL      string // without a slash at the end
	token    string // for all addresses of its server; empty: those in settings
	settings NPMSettings
}

// RegistryOf returns the registry of an npm package, by npm's rules: that of its scope, or the default one.
func (f *Fetcher) RegistryOf(name string) (NPMRegistry, error) {
	var r NPMRegistry
	if f.UserConfig != nil {
		var err error
		if r.settings, err = f.UserConfig(); err != nil {
			return NPMRegistry{}, fmt.Errorf("%w: %w", ErrNPMRC, err)
		}
	}
	s := r.settings[path.Dir(name)+":registry"]
	if s.value == "" && f.Registry == "" {
		s = r.settings["registry"]
	}
	u, err := parseAddress(s.value)
	if s.value != "" && (err != nil || u.Host == "" || !slices.Contains([]string{"https", "http"}, u.Scheme)) {
		return NPMRegistry{}, fmt.Errorf("%w: %s: expected an https address", ErrNPMRC, s.place)
	}
	chosen := strings.TrimSuffix(cmp.Or(f.Registry, defaultRegistry), "/")
	if r.URL = strings.TrimSuffix(cmp.Or(s.value, chosen), "/"); r.URL == chosen {
		r.token = f.Token
	}
	for _, s := range r.settings {
		if f.Registry == "" && s.value == f.Token { // the file says which registry it is for
			r.token = ""
		}
	}
	return r, nil
}

// unlessKept returns an error of RegistryOf, unless the cache has the file with a digest, for which no registry is needed.
func (f *Fetcher) unlessKept(err error, sum string) error {
	if path, _ := f.kept(sum); path != "" {
		return nil
	}
	return err
}

// authorization returns the header of requests to an address; empty for other servers than the registry. As in npm, a key in the settings is
// for the paths below its own, and the registry's key for all other paths of its server, where tarballs may be. One with a missing variable
// is none.
func (r NPMRegistry) authorization(address string) string {
	from, fromErr := url.Parse(r.URL)
	to, err := url.Parse(address)
	if err != nil || fromErr != nil || host(to) == "" || !httpx.SameOrigin(from, to) {
		return ""
	}
	if r.token != "" {
		return "Bearer " + r.token
	}
	for _, u := range []*url.URL{to, from} {
		for at := path.Join(host(u), path.Clean("/"+u.Path)); at != "."; at = path.Dir(at) {
			for _, kind := range [][2]string{{":_authToken", "Bearer "}, {":_auth", "Basic "}} {
				if s := r.settings["//"+at+kind[0]]; s.value != "" && !strings.Contains(s.value, "${") {
					return kind[1] + s.value
				}
			}
		}
	}
	return ""
}

// describe requests the description of a package. Its name is written as in an address.
func (r NPMRegistry) describe(ctx context.Context, f *Fetcher, name, accept string) ([]byte, error) {
	address := r.URL + "/" + name
	return f.get(ctx, address, map[string]string{"Accept": accept, "Authorization": r.authorization(address)}, maxPackument)
}

// resolveNPM finds the version that a range or a tag names.
func (f *Fetcher) resolveNPM(ctx context.Context, registry NPMRegistry, r Ref, out *Fetched) error {
	data, err := registry.describe(ctx, f, strings.ReplaceAll(r.URL, "/", "%2f"), packumentType)
	if err != nil {
		return err
	}
	versions := 0
	jsontext.EachField(data, func(_, value []byte) bool { // json.Unmarshal would also accept "Versions" and duplicate fields
		jsontext.EachField(value, func(_, _ []byte) bool { versions++; return versions <= maxVersions })
		return versions <= maxVersions
	})
	if versions > maxVersions {
		return fmt.Errorf("%w: more than %d versions of a package", ErrRegistry, maxVersions)
	}
	var p packument
	if err := json.Unmarshal(data, &p); err != nil {
		return fmt.Errorf("%w: %w", ErrRegistry, err)
	}
	version, err := p.choose(r.Version)
	if err != nil {
		return fmt.Errorf("%s: %w", redacted(registry.URL), err)
	}
	dist := p.Versions[version].Dist
	out.Version, out.URL, out.Integrity = version, dist.Tarball, dist.Integrity
	return nil
}

// choose returns the version for a tag, an exact version or a range. For a range, it is the version tagged latest if that
// matches, else the highest match.
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
		return "", fmt.Errorf("%w: no version matches %q among %d", ErrNotFound, text, len(p.Versions))
	}
	// Prefer the registry's latest version if it matches: higher versions may be for testing.
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

// sha512Of returns the digest in an integrity of the form "sha512-BASE64", in hexadecimal digits, see https://www.w3.org/TR/SRI. Older kinds
// of digests are not secure.
func sha512Of(integrity string) (string, error) {
	for text := range strings.FieldsSeq(integrity) {
		if encoded, ok := strings.CutPrefix(text, "sha512-"); ok {
			if sum, err := base64.StdEncoding.DecodeString(encoded); err == nil && len(sum) == sha512.Size {
				return hex.EncodeToString(sum), nil
			}
		}
	}
	return "", fmt.Errorf("%w: no SHA-512 of the package: integrity %q", ErrRegistry, visible.Clean(integrity, 200))
}

// npmGate is the only server that npm reaches: a registry on this machine that passes requests on to the real one. So npm has no token,
// tarballs come from the cache of downloads and are checked here, and npm cannot reach repositories or other servers.
type npmGate struct {
	f       *Fetcher
	server  http.Server
	serving sync.WaitGroup
	base    string                      // address of the gate, with a secret, because other users of the machine can reach the port
	work    string                      // directory in which npm runs
	lock    atomic.Pointer[packageLock] // the packages that npm installs, and the only ones that it may ask for; nil before they are known

	mu    sync.Mutex
	first error // the first failed request
}

// tarballs is the folder of the gate with the tarballs, by package; all other paths are descriptions of packages.
const tarballs = "-t-/"

// tarballs returns the address of the tarballs of a package.
func (g *npmGate) tarballs(name string) string { return g.base + tarballs + url.PathEscape(name) + "/" }

// openGate starts the gate for an npm in the directory work. The caller closes it.
func (f *Fetcher) openGate(work string) (*npmGate, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	g := &npmGate{f: f, work: work, base: "http://" + listener.Addr().String() + "/" + rand.Text() + "/"}
	g.server.Handler = g
	g.serving.Go(func() { _ = g.server.Serve(listener) }) // ends in close, which waits
	return g, nil
}

func (g *npmGate) close() error {
	err := g.server.Close()
	g.serving.Wait()
	return err
}

// problem returns the first request that failed; nil without one.
func (g *npmGate) problem() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.first
}

// ServeHTTP answers a request of npm. Requests for other servers arrive here too: the gate is npm's proxy.
func (g *npmGate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	err := g.answer(w, r)
	if err == nil {
		return
	}
	g.mu.Lock()
	g.first = cmp.Or(g.first, err)
	g.mu.Unlock()
	http.Error(w, err.Error(), http.StatusForbidden)
}

func (g *npmGate) answer(w http.ResponseWriter, r *http.Request) error {
	at, ok := strings.CutPrefix("http://"+r.Host+r.URL.EscapedPath(), g.base)
	switch {
	case r.Method == http.MethodConnect || !ok:
		return fmt.Errorf("%s is not the registry; dependencies must come from the registry", visible.Clean(r.Host, 100))
	case r.Method != http.MethodGet:
		return fmt.Errorf("npm sent a %s request, which is refused", visible.Clean(r.Method, 20))
	}
	file, tarball := strings.CutPrefix(at, tarballs)
	if tarball {
		at, file, _ = strings.Cut(file, "/")
	}
	name, err := url.PathUnescape(at)
	if err != nil {
		return err
	}
	if lock := g.lock.Load(); lock != nil && !tarball && !slices.Contains(lock.names(), name) { // an optional package that is missing, or a lock without a package
		http.Error(w, "not in the lock", http.StatusNotFound)
		return nil
	}
	registry, err := g.f.RegistryOf(name)
	if err != nil && tarball {
		err = g.f.unlessKept(err, g.lock.Load().digest(name, file))
	}
	if err != nil {
		return err
	}
	if tarball {
		return g.tarball(w, r, registry, name, file)
	}
	data, err := registry.describe(r.Context(), g.f, at, r.Header.Get("Accept"))
	if errors.Is(err, ErrNotFound) { // an optional package may be missing
		http.Error(w, err.Error(), http.StatusNotFound)
		return nil
	}
	if err == nil {
		data, err = redirectTarballs(data, registry.URL+"/", g.tarballs(name))
	}
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, err = w.Write(data)
	return err
}

func (g *npmGate) tarball(w http.ResponseWriter, r *http.Request, registry NPMRegistry, name, at string) error {
	address := registry.URL + "/" + at
	file, _, err := g.f.download(r.Context(), address, address, g.lock.Load().digest(name, at), registry.authorization(address))
	if err == nil {
		http.ServeFile(w, r, file)
	}
	return err
}

// redirectTarballs replaces the prefix from in the addresses of tarballs, in the description of a package, by to. Other addresses
// stay, and the gate refuses them when npm requests them, like dependencies that are addresses.
func redirectTarballs(packument []byte, from, to string) ([]byte, error) {
	if !json.Valid(packument) {
		return nil, fmt.Errorf("%w: not JSON", ErrRegistry)
	}
	address := regexp.MustCompile(`("tarball"\s*:\s*")` + regexp.QuoteMeta(from))
	return address.ReplaceAll(packument, []byte("${1}"+to)), nil
}

// encode encodes text and JSON that is known to be valid.
func encode(v any) json.RawMessage {
	data, _ := json.Marshal(v)
	return data
}

// inRegistry reports whether the whole text is the path of a tarball in the registry.
func inRegistry(name string) bool {
	u, err := url.Parse(name)
	onlyPath := err == nil && *u == url.URL{Path: u.Path, RawPath: u.RawPath}
	return onlyPath && fs.ValidPath(u.Path) && u.Path != "." && !strings.Contains(u.Path, `\`)
}
