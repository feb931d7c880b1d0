package source_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/plugins/source"
	"github.com/tenonhq/tenon/plugins/source/sourcetest"
)

// serverTree is where internal/testdeps installs real MCP servers.
const serverTree = "../../mcp/testdata/npm"

// TestNPMTree installs a real package with its dependencies, and again from the pin and the cache alone.
func TestNPMTree(t *testing.T) {
	t.Parallel()
	tree, err := filepath.Abs(serverTree)
	if err != nil {
		t.Fatal(err)
	}
	registry := sourcetest.NewNPM(t)
	registry.Token = "secret"
	registry.AddTree(t, tree, "glob")
	f := fetcher(t)
	f.Registry, f.Token = registry.URL, "secret"
	out, files, err := fetch(t, f, "npm:glob", nil)
	if err != nil {
		t.Fatal(err)
	}
	if !out.Local || files["node_modules/minimatch/package.json"] == "" || files["node_modules/.package-lock.json"] != "" {
		t.Fatalf("Fetch() = %+v, %d files", out.Pin, len(files))
	}
	if text := string(out.Packages); strings.Contains(text, "127.0.0.1") || strings.Contains(text, `"dev"`) || !strings.Contains(text, `"resolved":"minimatch/-/`) {
		t.Errorf("packages: %s", text)
	}
	f.Offline = true
	again, same, err := fetch(t, f, "npm:glob", &out.Pin)
	if err != nil || !maps.Equal(same, files) || string(again.Packages) != string(out.Packages) {
		t.Errorf("from the pin: %v, %d files, first %d", err, len(same), len(files))
	}
	asked := len(registry.Asked())
	if _, _, err := fetch(t, f, "npm:glob", nil); !errors.Is(err, source.ErrOffline) || len(registry.Asked()) != asked {
		t.Errorf("offline without a pin: %v", err)
	}
	damaged := out.Pin
	damaged.Packages = json.RawMessage(strings.Replace(string(out.Packages), `"integrity":"sha512-`, `"integrity":"sha512-AAAA`, 1))
	f.Offline = false
	if _, _, err := fetch(t, f, "npm:glob", &damaged); err == nil {
		t.Error("another digest of a dependency was accepted")
	}
}

// TestNPMRuns runs an installed server: all that it needs is there.
func TestNPMRuns(t *testing.T) {
	t.Parallel()
	registry := sourcetest.NewNPM(t)
	registry.Add(t, map[string]string{"package.json": `{"name":"one","version":"1.0.0","dependencies":{"two":"^1.0.0"},"optionalDependencies":{"never":"1.0.0"}}`,
		"main.js": `console.log(require("two") + require("three-alias"))`})
	registry.Add(t, map[string]string{"package.json": `{"name":"two","version":"1.2.0","dependencies":{"three-alias":"npm:@s/three@>=2"},"scripts":{"install":"touch ../../../ran"}}`, "index.js": `module.exports = "2" + require("three-alias")`})
	registry.Add(t, map[string]string{"package.json": `{"name":"@s/three","version":"2.0.0"}`, "index.js": `module.exports = "3"`})
	registry.Add(t, map[string]string{"package.json": `{"name":"never","version":"1.0.0","os":["none"]}`})
	f := fetcher(t)
	f.Registry = registry.URL
	r, err := source.Parse("npm:one", "/", "/")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "plugin")
	mkdir(t, dir)
	if _, err := f.Fetch(t.Context(), r, nil, dir); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "node", filepath.Join(dir, "main.js")).CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "233" {
		t.Errorf("node: %s, %v", out, err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), "*")); !slices.Equal(left, []string{dir}) {
		t.Errorf("left behind: %v", left)
	}
}

// TestNPMBundles installs a dependency that contains its own dependencies.
func TestNPMBundles(t *testing.T) {
	t.Parallel()
	registry := sourcetest.NewNPM(t)
	registry.Add(t, map[string]string{"package.json": `{"name":"one","version":"1.0.0","dependencies":{"two":"^1.0.0"}}`})
	registry.Add(t, map[string]string{"package.json": `{"name":"two","version":"1.0.0","dependencies":{"three":"*"},"bundleDependencies":["three"]}`,
		"node_modules/three/package.json": `{"name":"three","version":"1.0.0"}`})
	f := fetcher(t)
	f.Registry = registry.URL
	out, files, err := fetch(t, f, "npm:one", nil)
	const bundled = "node_modules/two/node_modules/three/package.json"
	if err != nil || files[bundled] == "" {
		t.Fatalf("%v, %v", files, err)
	}
	if _, files, err = fetch(t, f, "npm:one", &out.Pin); err != nil || files[bundled] == "" {
		t.Errorf("from the pin: %v, %v", files, err)
	}
}

// TestNPMCache: npm's cache, which may be large, is next to the plugin and not in the system's temporary directory.
func TestNPMCache(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	if err := fetcher(t).RunNPM(t.Context(), work, "cache", "verify"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(work, ".cache")); err != nil {
		t.Error(err)
	}
}

// TestNPMRefused: dependencies come from the registry alone, at every depth, and nothing of them runs.
func TestNPMRefused(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("npm asked another server for %s", r.URL) }))
	t.Cleanup(other.Close)
	for name, spec := range map[string]string{
		"git": "git+https://127.0.0.1:1/a.git", "github": "owner/repo", "http": other.URL + "/a.tgz", "https": "https://127.0.0.1:1/a.tgz",
		"file": "file:../other", "path": "../other", "workspace": "workspace:*", "link": "link:../x",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			registry := sourcetest.NewNPM(t)
			registry.Add(t, map[string]string{"package.json": `{"name":"direct","version":"1.0.0","dependencies":{"x":"` + spec + `"}}`})
			registry.Add(t, map[string]string{"package.json": `{"name":"deep","version":"1.0.0","dependencies":{"direct":"1.0.0"}}`})
			f := fetcher(t)
			f.Registry = registry.URL
			for _, ref := range []string{"npm:direct", "npm:deep"} {
				if out, files, err := fetch(t, f, ref, nil); !errors.Is(err, source.ErrDependencies) {
					t.Errorf("%s: %+v, %v, %v", ref, out, files, err)
				}
			}
		})
	}
	registry := sourcetest.NewNPM(t)
	registry.Add(t, map[string]string{"package.json": `{"name":"large","version":"1.0.0"}` + strings.Repeat(" ", 4<<20)})
	f := fetcher(t)
	f.Registry = registry.URL
	if _, _, err := fetch(t, f, "npm:large", nil); err == nil {
		t.Error("a package.json of 4 MiB was read")
	}
}

// TestNPMGate: an npm that ignores settings reaches nothing but the registry, and only reads there.
func TestNPMGate(t *testing.T) {
	t.Parallel()
	registry := sourcetest.NewNPM(t)
	registry.Add(t, map[string]string{"package.json": `{"name":"one","version":"1.0.0"}`})
	f := fetcher(t)
	f.Registry = registry.URL
	for line, want := range map[string]int{
		"GET /secret/one": http.StatusOK, "GET /secret/two": http.StatusNotFound, "PUT /secret/one": http.StatusForbidden, "GET /one": http.StatusForbidden,
		"GET /secret/-t-/two/-/1.0.0.tgz": http.StatusForbidden, "GET http://gate/secret/one": http.StatusOK, "GET http://other/secret/one": http.StatusForbidden, "CONNECT gate:80": http.StatusForbidden,
	} {
		method, target, _ := strings.Cut(line, " ")
		r, w := httptest.NewRequestWithContext(t.Context(), method, target, nil), httptest.NewRecorder()
		r.Host = cmp.Or(r.URL.Host, "gate")
		if f.Gate().ServeHTTP(w, r); w.Code != want {
			t.Errorf("%s: status %d, want %d", line, w.Code, want)
		}
	}
	if asked := registry.Asked(); len(asked) != 4 {
		t.Errorf("the registry was asked for %q", asked)
	}
	// Tarballs come through the gate, and nothing else: npm 10 installs dependencies with the address of the gate, and writes it to the lock.
	registry.Add(t, map[string]string{"package.json": `{"name":"three","version":"1.0.0","dependencies":{"one":"` + registry.URL + `/one/-/1.0.0.tgz"}}`})
	r, w := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/secret/three", nil), httptest.NewRecorder()
	r.Host = "gate"
	f.Gate().ServeHTTP(w, r)
	if text := w.Body.String(); !strings.Contains(text, `"one":"`+registry.URL+`/one/`) || !strings.Contains(text, `"tarball":"http://gate/secret/-t-/three/three/`) {
		t.Errorf("description of a package: %s", text)
	}
}

// TestNPMShrinkwrap: a package's own lock, which names npm's registry, decides about versions with another registry, too.
func TestNPMShrinkwrap(t *testing.T) {
	t.Parallel()
	registry := sourcetest.NewNPM(t)
	two := map[string]string{"package.json": `{"name":"two","version":"1.0.0"}`}
	tarball, err := sourcetest.Tarball("package/", two)
	if err != nil {
		t.Fatal(err)
	}
	registry.Add(t, two)
	registry.Add(t, map[string]string{"package.json": `{"name":"two","version":"1.1.0"}`})
	registry.Add(t, map[string]string{
		"package.json": `{"name":"one","version":"1.0.0","peerDependencies":{"two":"1","absent":"1"},"peerDependenciesMeta":{"absent":{"optional":true}}}`,
		"npm-shrinkwrap.json": `{"lockfileVersion":3,"packages":{"node_modules/dev":{"version":"1.0.0","dev":true,"resolved":"git+ssh://x/y"},
			"node_modules/two":{"version":"1.0.0","resolved":"https://registry.npmjs.org/two/-/1.0.0.tgz","integrity":"` + sourcetest.Integrity(tarball) + `"}}}`,
	})
	registry.Add(t, map[string]string{
		"package.json":        `{"name":"old","version":"1.0.0","dependencies":{"two":"1"}}`,
		"npm-shrinkwrap.json": `{"lockfileVersion":1,"dependencies":{"two":{"version":"1.0.0"}}}`,
	})
	f := fetcher(t)
	f.Registry = registry.URL
	if _, files, err := fetch(t, f, "npm:one", nil); err != nil || files["node_modules/two/package.json"] != two["package.json"] {
		t.Errorf("%v, %q", err, files["node_modules/two/package.json"])
	}
	if _, files, err := fetch(t, f, "npm:old", nil); !errors.Is(err, source.ErrDependencies) || !strings.Contains(err.Error(), "lockfileVersion is 1") {
		t.Errorf("a shrinkwrap of npm 6: %v, %v", files, err)
	}
}

// TestNPMLockRefused: a lock file is a stranger's text.
func TestNPMLockRefused(t *testing.T) {
	t.Parallel()
	registry := sourcetest.NewNPM(t)
	registry.Add(t, map[string]string{"package.json": `{"name":"one","version":"1.0.0","dependencies":{"two":"1"}}`})
	registry.Add(t, map[string]string{"package.json": `{"name":"two","version":"1.0.0"}`})
	f := fetcher(t)
	f.Registry = registry.URL
	out, _, err := fetch(t, f, "npm:one", nil)
	if err != nil {
		t.Fatal(err)
	}
	sum := sourcetest.Integrity(nil)
	for name, packages := range map[string]string{
		"place":      `{"packages":{"node_modules/../../x":{"version":"1.0.0","resolved":"x/-/x.tgz","integrity":"` + sum + `"}}}`,
		"root":       `{"packages":{"../x":{"version":"1.0.0","resolved":"x/-/x.tgz","integrity":"` + sum + `"}}}`,
		"address":    `{"packages":{"node_modules/two":{"version":"1.0.0","resolved":"https://example.com/x.tgz","integrity":"` + sum + `"}}}`,
		"other host": `{"packages":{"node_modules/two":{"version":"1.0.0","resolved":"//example.com/x.tgz","integrity":"` + sum + `"}}}`,
		"above":      `{"packages":{"node_modules/two":{"version":"1.0.0","resolved":"../x.tgz","integrity":"` + sum + `"}}}`,
		"git":        `{"packages":{"node_modules/two":{"version":"1.0.0","resolved":"git+ssh://git@x/y.git#1","integrity":"` + sum + `"}}}`,
		"link":       `{"packages":{"node_modules/two":{"link":true,"resolved":"../../etc"}}}`,
		"no digest":  `{"packages":{"node_modules/two":{"version":"1.0.0","resolved":"two/-/1.0.0.tgz"}}}`,
		"sha1":       `{"packages":{"node_modules/two":{"version":"1.0.0","resolved":"two/-/1.0.0.tgz","integrity":"sha1-abc"}}}`,
		"alias":      `{"packages":{"node_modules/two":{"name":"..","version":"1.0.0","resolved":"two/-/1.0.0.tgz","integrity":"` + sum + `"}}}`,
		"self":       `{"packages":{"node_modules/two":{"name":".","version":"1.0.0","resolved":"two/-/1.0.0.tgz","integrity":"` + sum + `"}}}`,
		"nested":     `{"packages":{"node_modules/two":{"name":"a/node_modules/b","version":"1.0.0","resolved":"two/-/1.0.0.tgz","integrity":"` + sum + `"}}}`,
		"not JSON":   `[]`,
	} {
		pin := out.Pin
		pin.Packages = json.RawMessage(packages)
		if _, err := source.DecodeNPMLock(pin.Packages); !errors.Is(err, source.ErrDependencies) {
			t.Errorf("%s: decoded with %v", name, err)
		}
		if _, _, err := fetch(t, f, "npm:one", &pin); !errors.Is(err, source.ErrDependencies) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// For a repository, the registry must name the pinned tarball. The transport reaches the server of this test.
	f.Guarded, f.Transport = true, http.DefaultTransport
	if _, _, err := fetch(t, f, "npm:one", &out.Pin); err != nil {
		t.Errorf("guarded: %v", err)
	}
	pin := out.Pin
	pin.URL += "?other"
	if _, _, err := fetch(t, f, "npm:one", &pin); !errors.Is(err, source.ErrMismatch) {
		t.Errorf("another address of the tarball: %v", err)
	}
	// A lock without a package does not let npm ask for it: its registry may be one that the user has not confirmed.
	pin = out.Pin
	before := len(registry.Asked())
	for _, packages := range []string{`{"packages":{}}`, `{"packages":{"node_modules/three":{"version":"1.0.0","resolved":"two/-/1.0.0.tgz","integrity":"` + sum + `"}}}`} {
		pin.Packages = json.RawMessage(packages)
		if _, files, err := fetch(t, f, "npm:one", &pin); !errors.Is(err, source.ErrDependencies) {
			t.Errorf("a missing package: %v, %v", files, err)
		}
	}
	pin = out.Pin
	pin.Packages, pin.Local = nil, false
	if _, files, err := fetch(t, f, "npm:one", &pin); !errors.Is(err, source.ErrMismatch) {
		t.Errorf("without packages: %v, %v", files, err)
	}
	for _, asked := range registry.Asked()[before:] {
		if !strings.Contains(asked, "one") {
			t.Errorf("a missing package: the registry was asked for %q", asked)
		}
	}
	pin = out.Pin
	pin.Packages = nil
	if _, _, err := fetch(t, f, "npm:one", &pin); !errors.Is(err, source.ErrRef) {
		t.Errorf("a local pin without packages: %v", err)
	}
}
