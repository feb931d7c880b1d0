// Package sourcetest has servers for tests of sources: a registry of npm packages.
package sourcetest

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
)

// NPM is a registry of npm packages. It serves packages as they are published: a description, and a tarball with one folder.
type NPM struct {
	*httptest.Server
	// Token is the token that requests must have; empty: none.
	Token string

	mu       sync.Mutex
	packages map[string]map[string]published // by name and version
	asked    []string
}

// published is a version of a package.
type published struct {
	tarball []byte
	about   map[string]any // its package.json
}

// NewNPM starts a registry. It ends with the test.
func NewNPM(t testing.TB) *NPM {
	n := &NPM{packages: map[string]map[string]published{}}
	n.Server = httptest.NewServer(n)
	t.Cleanup(n.Close)
	return n
}

// Add publishes a package, whose files include package.json. It returns the names of the packages it needs; none if it was published before.
func (n *NPM) Add(t testing.TB, files map[string]string) (needs []string) {
	t.Helper()
	p := published{}
	err := json.Unmarshal([]byte(files["package.json"]), &p.about)
	name, _ := p.about["name"].(string)
	version, _ := p.about["version"].(string)
	if err != nil || name == "" || version == "" {
		t.Fatalf("package.json: %v %v", err, p.about)
	}
	if p.tarball, err = Tarball("package/", files); err != nil {
		t.Fatal(err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.packages[name] == nil {
		n.packages[name] = map[string]published{}
	}
	if _, known := n.packages[name][version]; !known {
		list, _ := p.about["dependencies"].(map[string]any)
		needs = slices.Sorted(maps.Keys(list))
	}
	n.packages[name][version] = p
	return needs
}

// AddTree publishes the package in node_modules/NAME of a directory, or of one above it, as node finds it, with its installed dependencies:
// real packages.
func (n *NPM) AddTree(t testing.TB, dir, name string) {
	t.Helper()
	root := filepath.Join(dir, "node_modules", filepath.FromSlash(name))
	if _, err := os.Stat(root); err != nil && dir != filepath.Dir(dir) && dir != "." {
		n.AddTree(t, filepath.Dir(dir), name)
		return
	}
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("%w; install it: go run ./internal/testdeps", err)
		case d.IsDir() && d.Name() == "node_modules":
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(root, path)
		files[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, need := range n.Add(t, files) {
		n.AddTree(t, root, need)
	}
}

// Tarball returns the files, below the folder prefix, as .tar.gz.
func Tarball(prefix string, files map[string]string) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	tree := fstest.MapFS{}
	for name, content := range files {
		tree[prefix+name] = &fstest.MapFile{Data: []byte(content), Mode: 0o644}
	}
	w := tar.NewWriter(z)
	err = errors.Join(w.AddFS(tree), w.Close(), z.Close())
	return b.Bytes(), err
}

// Asked returns the paths of the requests so far.
func (n *NPM) Asked() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.asked)
}

// Integrity returns the digest of a tarball as registries write it.
func Integrity(data []byte) string {
	sum := sha512.Sum512(data)
	return "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
}

// ServeHTTP answers requests for descriptions and tarballs.
func (n *NPM) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = append(n.asked, r.URL.Path)
	name, file, tarball := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/-/")
	versions := n.packages[name]
	switch {
	case n.Token != "" && r.Header.Get("Authorization") != "Bearer "+n.Token:
		http.Error(w, "a token is missing", http.StatusUnauthorized)
	case versions == nil:
		http.NotFound(w, r)
	case tarball:
		_, _ = w.Write(versions[strings.TrimSuffix(file, ".tgz")].tarball)
	default:
		_ = json.NewEncoder(w).Encode(n.describe(name, versions))
	}
}

// describe returns the description of a package. Its latest version is the last in the order of text.
func (n *NPM) describe(name string, versions map[string]published) any {
	list := map[string]any{}
	for version, p := range versions {
		about := maps.Clone(p.about)
		about["dist"] = map[string]any{"tarball": n.URL + "/" + name + "/-/" + version + ".tgz", "integrity": Integrity(p.tarball)}
		list[version] = about
	}
	return map[string]any{"name": name, "dist-tags": map[string]string{"latest": slices.Max(slices.Collect(maps.Keys(versions)))}, "versions": list}
}

// AddModule publishes a version of a Go module in a directory that works as a file:// proxy,
// see https://go.dev/ref/mod#goproxy-protocol.
func AddModule(t testing.TB, proxy, module, version string, files map[string]string) {
	t.Helper()
	dir := filepath.Join(proxy, filepath.FromSlash(module), "@v")
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := w.Create(module + "@" + version + "/" + name)
		if err == nil {
			_, err = f.Write([]byte(files[name]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), os.MkdirAll(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile(filepath.Join(dir, "list"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"list": string(list) + version + "\n", version + ".mod": files["go.mod"], version + ".zip": b.String(),
		version + ".info": `{"Version":"` + version + `","Time":"2026-01-02T03:04:05Z"}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// GoBuilds returns the directory in which the go command keeps compiled packages, so that tests need not compile
// the standard library again.
func GoBuilds(t testing.TB) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// GoEnviron returns an environment in which the go command fetches modules only from a file:// proxy, without the checksum database,
// which does not know them.
func GoEnviron(proxy string) []string {
	environ := slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "GO") })
	return append(environ, "GOPROXY=file://"+filepath.ToSlash(proxy), "GONOSUMDB=*", "GOSUMDB=off")
}
