package source

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"

	"github.com/tenonhq/tenon/internal/httpx"
	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/visible"
)

// npmGate is the only server that npm reaches: a registry on this machine that passes requests on to the real one. So npm has no token,
// tarballs come from the cache of downloads and are checked here, and repositories and other servers are out of reach.
type npmGate struct {
	f       *Fetcher
	server  http.Server
	serving sync.WaitGroup
	base    string            // address of the gate, with a secret: other users of the machine reach the port
	digests map[string][]byte // SHA-512 of the tarballs of the lock, by path in the registry
	shared  *http.Transport   // nil if the fetcher has one

	mu    sync.Mutex
	first error // the first failed request
}

// tarballs is the folder of the gate whose files are tarballs; all else are descriptions of packages.
const tarballs = "-t-/"

// openGate starts the gate. The caller closes it.
func (f *Fetcher) openGate(digests map[string][]byte) (*npmGate, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	inner := *f
	g := &npmGate{f: &inner, digests: digests, base: "http://" + listener.Addr().String() + "/" + rand.Text() + "/"}
	if f.Transport == nil {
		g.shared = f.transport()
		inner.Transport = httpx.Proxied{Transport: g.shared}
	}
	g.server.Handler = g
	g.serving.Go(func() { _ = g.server.Serve(listener) }) // ends in close, which waits
	return g, nil
}

func (g *npmGate) close() error {
	err := g.server.Close()
	g.serving.Wait()
	if g.shared != nil {
		g.shared.CloseIdleConnections()
	}
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
	switch {
	case err == nil:
		return
	case errors.Is(err, ErrNotFound): // an optional one may be missing
		http.Error(w, err.Error(), http.StatusNotFound)
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
	case r.Method == http.MethodConnect || r.URL.Host != "" || !ok:
		return fmt.Errorf("%s is not the registry; dependencies must come from the registry", visible.Clean(r.Host, 100))
	case r.Method != http.MethodGet:
		return fmt.Errorf("npm sent a %s request, which is refused", visible.Clean(r.Method, 20))
	}
	if name, ok := strings.CutPrefix(at, tarballs); ok {
		return g.tarball(w, r, name)
	}
	header := g.f.npmHeader(r.Header.Get("Accept"))
	data, err := g.f.get(r.Context(), g.f.RegistryURL()+"/"+at, header, maxPackument)
	if err == nil {
		data, err = redirectTarballs(data, g.f.RegistryURL()+"/", g.base+tarballs)
	}
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, err = w.Write(data)
	return err
}

func (g *npmGate) tarball(w http.ResponseWriter, r *http.Request, name string) error {
	file, err := g.f.npmTarball(r.Context(), name, g.digests[name])
	if err == nil {
		http.ServeFile(w, r, file)
	}
	return err
}

// npmHeader returns the header of requests to the registry.
func (f *Fetcher) npmHeader(accept string) map[string]string {
	header := map[string]string{"Accept": accept}
	if f.Token != "" {
		header["Authorization"] = "Bearer " + f.Token
	}
	return header
}

// npmTarball returns a file of the cache with a tarball of the registry. digest is its SHA-512; nil if npm is to check it alone.
func (f *Fetcher) npmTarball(ctx context.Context, name string, digest []byte) (string, error) {
	kept := ""
	if digest != nil {
		path, ok, err := f.cached(npmKind, hex.EncodeToString(digest))
		if err != nil || ok && checkSHA512(path, digest) == nil {
			return path, err
		}
		kept = path
	}
	address := f.RegistryURL() + "/" + name
	file, _, err := f.download(ctx, address, address, "", f.npmHeader("")["Authorization"])
	if err != nil || digest == nil {
		return file, err
	}
	if err := checkSHA512(file, digest); err != nil {
		return "", errors.Join(fmt.Errorf("%s: %w", address, err), os.Remove(file))
	}
	return kept, os.Rename(file, kept)
}

// redirectTarballs replaces the addresses of tarballs in the description of a package: those below from are below to then. The others
// stay, and are refused when npm requests them.
func redirectTarballs(packument []byte, from, to string) ([]byte, error) {
	var doc map[string]any
	if err := jsontext.DecodeExact(packument, &doc); err != nil {
		return nil, fmt.Errorf("unexpected answer of the npm registry: %w", err)
	}
	versions, _ := doc["versions"].(map[string]any)
	for _, v := range versions {
		version, _ := v.(map[string]any)
		dist, _ := version["dist"].(map[string]any)
		if address, ok := dist["tarball"].(string); ok && strings.HasPrefix(address, from) {
			dist["tarball"] = to + address[len(from):]
		}
	}
	return encode(doc), nil
}

// encode writes text and JSON that was valid before.
func encode(v any) json.RawMessage {
	data, _ := json.Marshal(v)
	return data
}

// inRegistry reports whether a text is the path of a tarball in the registry, and nothing else.
func inRegistry(name string) bool {
	u, err := url.Parse(name)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || name == "" {
		return false
	}
	for part := range strings.SplitSeq(u.Path, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return !strings.Contains(u.Path, `\`)
}
