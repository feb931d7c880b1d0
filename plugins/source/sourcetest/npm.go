// Package sourcetest has servers for tests of sources: a registry of npm packages.
package sourcetest

import (
	"archive/tar"
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
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// NPM is a registry of npm packages. It serves packages as they are published: a description, and a tarball with one folder.
type NPM struct {
	*httptest.Server
	// Token is what requests must have; empty: nothing.
	Token string

	mu       sync.Mutex
	packages map[string]map[string]published // by name and version
	asked    []string
}

// published is a version of a package.
type published struct {
	tarball   []byte
	integrity string
	about     map[string]any // its package.json
}

// NewNPM starts a registry. It ends with the test.
func NewNPM(t testing.TB) *NPM {
	n := &NPM{packages: map[string]map[string]published{}}
	n.Server = httptest.NewServer(n)
	t.Cleanup(n.Close)
	return n
}

// Add publishes a package, whose files include package.json.
func (n *NPM) Add(t testing.TB, files map[string]string) {
	t.Helper()
	var about struct{ Name, Version string }
	if err := json.Unmarshal([]byte(files["package.json"]), &about); err != nil || about.Name == "" || about.Version == "" {
		t.Fatalf("package.json: %v %+v", err, about)
	}
	data, err := Tarball("package/", files)
	if err != nil {
		t.Fatal(err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.packages[about.Name] == nil {
		n.packages[about.Name] = map[string]published{}
	}
	p := published{data, Integrity(data), map[string]any{}}
	_ = json.Unmarshal([]byte(files["package.json"]), &p.about) // decoded before
	n.packages[about.Name][about.Version] = p
}

// AddTree publishes the package in node_modules/NAME of a directory, and those it needs, as they are installed there: real packages.
func (n *NPM) AddTree(t testing.TB, dir, name string) {
	t.Helper()
	n.addTree(t, dir, dir, name)
}

func (n *NPM) addTree(t testing.TB, dir, top, name string) {
	p := readPackage(t, dir, name)
	n.mu.Lock()
	_, known := n.packages[name][p.version]
	n.mu.Unlock()
	if known {
		return
	}
	n.Add(t, p.files)
	for _, need := range p.needs {
		n.addTree(t, nearest(p.root, top, need), top, need)
	}
}

// installed is a package in a folder node_modules.
type installed struct {
	root, version string
	files         map[string]string
	needs         []string // names of packages
}

// readPackage reads the package in node_modules/NAME of a directory, without those in its own folder node_modules.
func readPackage(t testing.TB, dir, name string) *installed {
	t.Helper()
	p := &installed{root: filepath.Join(dir, "node_modules", filepath.FromSlash(name)), files: map[string]string{}}
	err := filepath.WalkDir(p.root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("%w; install it: go run ./internal/testdeps", err)
		case d.IsDir() && d.Name() == "node_modules":
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(p.root, path)
		p.files[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var about struct {
		Version      string
		Dependencies map[string]string
	}
	if err := json.Unmarshal([]byte(p.files["package.json"]), &about); err != nil {
		t.Fatal(err)
	}
	p.version, p.needs = about.Version, slices.Sorted(maps.Keys(about.Dependencies))
	return p
}

// nearest returns the directory at or above dir whose node_modules has the package, as node looks for it.
func nearest(dir, top, name string) string {
	for ; dir != top; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "node_modules", filepath.FromSlash(name))); err == nil {
			return dir
		}
	}
	return top
}

// Tarball returns the files, below the folder prefix, as .tar.gz.
func Tarball(prefix string, files map[string]string) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(z)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		err := w.WriteHeader(&tar.Header{Name: prefix + name, Mode: 0o644, Size: int64(len(files[name])), Typeflag: tar.TypeReg})
		if err == nil {
			_, err = w.Write([]byte(files[name]))
		}
		if err != nil {
			return nil, err
		}
	}
	err = errors.Join(w.Close(), z.Close())
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
		about["dist"] = map[string]any{"tarball": n.URL + "/" + name + "/-/" + version + ".tgz", "integrity": p.integrity}
		list[version] = about
	}
	return map[string]any{"name": name, "dist-tags": map[string]string{"latest": slices.Max(slices.Collect(maps.Keys(versions)))}, "versions": list}
}
