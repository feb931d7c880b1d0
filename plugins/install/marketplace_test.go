package install_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/plugins"
	"github.com/tenonhq/tenon/plugins/install"
	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/plugins/marketplace"
	"github.com/tenonhq/tenon/plugins/pins"
	"github.com/tenonhq/tenon/plugins/source"
	"github.com/tenonhq/tenon/plugins/trust"
)

// kit is an installer with its own directories, and servers for git, archives and npm.
type kit struct {
	*install.Installer
	target install.Target
	top    string // of repositories and home
	server *httptest.Server
	files  map[string][]byte // served, by path
}

func newKit(t *testing.T) *kit {
	t.Helper()
	k := &kit{top: t.TempDir(), files: map[string][]byte{}}
	backend := &cgi.Handler{
		Path: filepath.Join(k.git(t, ".", "--exec-path"), "git-http-backend"), Stderr: io.Discard,
		Env: []string{"GIT_PROJECT_ROOT=" + k.top, "GIT_HTTP_EXPORT_ALL=1", "HOME=" + k.top},
	}
	k.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if data, ok := k.files[r.URL.EscapedPath()]; ok {
			_, _ = w.Write(data)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(k.server.Close)
	// Repositories of GitHub are served from here.
	config := "[url \"" + k.server.URL + "/\"]\n\tinsteadOf = https://github.com/owner/\n[uploadpack]\n\tallowAnySHA1InWant = true\n"
	if err := os.WriteFile(filepath.Join(k.top, ".gitconfig"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	fetcher := &source.Fetcher{Cache: filepath.Join(data, "cache"), Environ: append(os.Environ(), "HOME="+k.top), Registry: k.server.URL + "/npm"}
	k.Installer = &install.Installer{
		Fetcher: fetcher, History: pins.History{Dir: data}, Vault: trust.NewVault(filepath.Join(data, "store"), ""), Home: k.top, Temp: filepath.Join(data, "unpacked"),
		Markets: marketplace.Store{File: filepath.Join(data, "config", marketplace.FileName), Dir: filepath.Join(data, "markets"), Home: k.top, Fetcher: fetcher},
	}
	k.target = install.Target{Path: filepath.Join(data, "config", pins.Name)}
	return k
}

// git runs git in a directory below top, and returns its output.
func (k *kit) git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"}, args...)...)
	cmd.Dir = filepath.Join(k.top, dir)
	cmd.Env = append(os.Environ(), "HOME="+k.top, "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// repository makes a repository with one commit more, and returns the commit.
func (k *kit) repository(t *testing.T, name string, files map[string]string) string {
	t.Helper()
	write(t, filepath.Join(k.top, name), files)
	k.git(t, name, "init", "-q")
	k.git(t, name, "add", "-A")
	k.git(t, name, "commit", "-q", "--allow-empty", "-m", "x")
	return k.git(t, name, "rev-parse", "HEAD")
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, body := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(body), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

func skill(name string) string { return "---\nname: " + name + "\ndescription: d\n---\nText." }

func zipOf(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, body := range files {
		f, err := w.Create(name)
		if err == nil {
			_, err = io.WriteString(f, body)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tarballOf(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for name, body := range files {
		err := w.WriteHeader(&tar.Header{Name: "package/" + name, Mode: 0o644, Size: int64(len(body)), Typeflag: tar.TypeReg})
		if err == nil {
			_, err = io.WriteString(w, body)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// serveNPM adds a package to the registry.
func (k *kit) serveNPM(t *testing.T, name, version string, files map[string]string) {
	t.Helper()
	files["package.json"] = `{"name": "` + name + `"}`
	data := tarballOf(t, files)
	sum := sha512.Sum512(data)
	k.files["/tarballs/"+name] = data
	dist := map[string]string{"tarball": k.server.URL + "/tarballs/" + name, "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}
	packument, err := json.Marshal(map[string]any{"dist-tags": map[string]string{"latest": version}, "versions": map[string]any{version: map[string]any{"dist": dist}}})
	if err != nil {
		t.Fatal(err)
	}
	k.files["/npm/"+name] = packument
}

// stageAndSync stages a plugin, checks that its pin alone restores it in another machine's directories, and returns its package.
func (k *kit) stageAndSync(t *testing.T, ref string) (*plugins.Installed, *manifest.Package) {
	t.Helper()
	s, err := k.Stage(t.Context(), k.target, ref, nil)
	if err != nil {
		t.Fatalf("%s: %v", ref, err)
	}
	file, err := pins.Decode((&pins.File{Plugins: []pins.Plugin{s.Plugin}}).Encode())
	if err != nil {
		t.Fatalf("%s: %v", ref, err)
	}
	data := t.TempDir()
	fetcher := *k.Fetcher
	fetcher.Cache = filepath.Join(data, "cache")
	other := &install.Installer{
		Fetcher: &fetcher, History: pins.History{Dir: data}, Vault: trust.NewVault(filepath.Join(data, "store"), ""), Home: k.top, Temp: filepath.Join(data, "unpacked"),
	}
	again, err := other.Stage(t.Context(), k.target, ref, &file.Plugins[0])
	if err != nil {
		t.Errorf("%s: sync: %v", ref, err)
	} else if restored := (&pins.File{Plugins: []pins.Plugin{again.Plugin}}).Encode(); !bytes.Equal(restored, file.Encode()) {
		t.Errorf("%s: sync = %s, want %s", ref, restored, file.Encode())
	}
	sealed, err := k.Vault.Open(t.Context(), s.Digest)
	if err != nil {
		t.Fatal(err)
	}
	p, err := manifest.ReadNamed(sealed.Root, s.Name)
	if err != nil {
		t.Fatalf("%s: %v", ref, err)
	}
	return s, p
}

func skills(p *manifest.Package) string {
	var names []string
	for _, s := range p.Skills {
		names = append(names, s.Name)
	}
	return strings.Join(names, " ")
}

// TestMarketplace installs from a catalogue with every kind of source and shape of entry.
func TestMarketplace(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	old := k.repository(t, "tools", map[string]string{
		".claude-plugin/plugin.json": `{"name": "tools", "version": "1"}`, "skills/old/SKILL.md": skill("old"), "sub/dir/skills/deep/SKILL.md": skill("deep"),
	})
	k.git(t, "tools", "tag", "v1")
	k.git(t, "tools", "mv", "skills/old", "skills/new")
	current := k.repository(t, "tools", map[string]string{"skills/new/SKILL.md": skill("new")})
	archived := zipOf(t, map[string]string{"p/plugin.json": `{"name": "zipped"}`, "p/.claude-plugin/plugin.json": `{"name": "zipped"}`, "p/skills/z/SKILL.md": skill("z")})
	sum := sha256.Sum256(archived)
	k.files["/a.zip"] = archived
	k.serveNPM(t, "from-npm", "1.2.3", map[string]string{"skills/n/SKILL.md": skill("n")})
	k.repository(t, "market", map[string]string{
		"plugins/plain/.claude-plugin/plugin.json": `{"name": "plain", "commands": "./extra.md"}`,
		"plugins/plain/extra.md":                   "Say hello.",
		"plugins/plain/skills/p/SKILL.md":          skill("p"),
		"plugins/bare/commands/go.md":              "Go.",
		"plugins/added/.claude-plugin/plugin.json": `{"name": "added", "version": "2", "commands": ["./one.md"], "mcpServers": {"a": {"command": "own"}}}`,
		"plugins/added/one.md":                     "One.",
		"plugins/added/two.md":                     "Two.",
		"plugins/both/.claude-plugin/plugin.json":  `{"name": "both", "commands": "./c.md"}`,
		"plugins/lsp/README.md":                    "A language server.",
		"skills/first/SKILL.md":                    skill("first"),
		"skills/second/SKILL.md":                   skill("second"),
		".claude-plugin/marketplace.json": `{
			"name": "market", "owner": {"name": "o"}, "metadata": {"pluginRoot": "./plugins"},
			"renames": {"old-plain": "older", "older": "plain", "gone": null},
			"plugins": [
				{"name": "plain", "source": "./plugins/plain", "description": "Plain things", "keywords": ["simple"]},
				{"name": "rooted", "source": "plain"},
				{"name": "bare", "source": "./plugins/bare", "version": "3.1", "description": "From the entry"},
				{"name": "added", "source": "./plugins/added", "commands": "./two.md", "mcpServers": {"a": {"command": "entry"}, "b": {"command": "node"}}},
				{"name": "both", "source": "./plugins/both", "strict": false, "commands": "./c.md"},
				{"name": "undefined", "source": "./plugins/plain", "strict": false, "tags": ["simple"]},
				{"name": "lsp", "source": "./plugins/lsp", "strict": false, "lspServers": {"gopls": {"command": "gopls"}}},
				{"name": "listed", "source": "./", "strict": false, "skills": ["./skills/second"]},
				{"name": "hub", "source": {"source": "github", "repo": "owner/tools", "ref": "v1"}},
				{"name": "pinned", "source": {"source": "url", "url": "` + k.server.URL + `/tools/.git", "sha": "` + old + `"}},
				{"name": "newest", "source": {"source": "url", "url": "` + k.server.URL + `/tools/.git"}},
				{"name": "deep", "source": {"source": "git-subdir", "url": "owner/tools", "path": "./sub/dir", "ref": "v1", "sha": "` + current + `"}},
				{"name": "from-npm", "source": {"source": "npm", "package": "from-npm", "version": "^1", "registry": "` + k.server.URL + `/npm/"}},
				{"name": "other-npm", "source": {"source": "npm", "package": "from-npm", "registry": "https://registry.example"}},
				{"name": "zipped", "source": {"source": "archive", "url": "` + k.server.URL + `/a.zip", "sha256": "` + hex.EncodeToString(sum[:]) + `"}},
				{"name": "changed", "source": {"source": "archive", "url": "` + k.server.URL + `/a.zip", "sha256": "` + strings.Repeat("0", 64) + `"}},
				{"name": "run", "source": {"source": "command", "command": "touch pwned"}},
				{"name": "outside", "source": "./../../x"},
				{"name": "option", "source": {"source": "url", "url": "--upload-pack=x"}},
				{"name": "ext", "source": {"source": "url", "url": "ext::sh -c x"}},
				{"name": "strange", "source": {"source": "ftp"}},
				{"name": "branch", "source": {"source": "github", "repo": "owner/tools", "ref": "--upload-pack=x"}},
				{"name": "commit", "source": {"source": "github", "repo": "owner/tools", "sha": "--upload-pack=x"}},
				{"name": "version", "source": {"source": "url", "url": "https://h.example/a@b"}},
				{"name": "path", "source": {"source": "archive", "url": "/etc"}},
				{"name": "lax", "source": "./plugins/plain", "strict": 1},
				{"name": "no source"}, {"name": "plain", "source": "./twice"}, 7
			]}`,
	})
	m, err := k.Markets.Add(t.Context(), k.server.URL+"/market/.git", "/")
	if err != nil || m.Name != "market" || len(m.Entries) != 25 || len(m.Problems) != 4 {
		t.Fatalf("Add() = %+v, %v", m, err)
	}
	for name, want := range map[string]struct{ skills, commands, version, manifest string }{
		"plain":     {"p", "plain:extra", "", ""},
		"old-plain": {"p", "plain:extra", "", ""},
		"rooted":    {"p", "plain:extra", "", ""},
		"undefined": {"p", "plain:extra", "", ""},
		"bare":      {"", "bare:go", "3.1", `{"description":"From the entry","name":"bare","version":"3.1"}`},
		"added":     {"", "added:one added:two", "2", `{"commands":["./one.md","./two.md"],"mcpServers":{"a":{"command":"own"},"b":{"command":"node"}},"name":"added","version":"2"}`},
		"listed":    {"second", "", "", `{"` + manifest.OnlyListed + `":true,"name":"listed","skills":["./skills/second"]}`},
		"hub":       {"old", "", "1", ""},
		"pinned":    {"old", "", "1", ""},
		"newest":    {"new", "", "1", ""},
		"deep":      {"deep", "", "", `{"name":"deep"}`},
		"from-npm":  {"n", "", "", `{"name":"from-npm"}`},
		"zipped":    {"z", "", "", ""},
	} {
		s, p := k.stageAndSync(t, name+"@market")
		var commands []string
		for _, c := range p.Description.Commands {
			commands = append(commands, c.Name)
		}
		slices.Sort(commands)
		if skills(p) != want.skills || strings.Join(commands, " ") != want.commands || p.Description.Version != want.version || string(s.Definition) != want.manifest {
			t.Errorf("%s: skills %q, commands %q, version %q, manifest %s, want %+v", name, skills(p), commands, p.Description.Version, s.Definition, want)
		}
	}
	for name, want := range map[string]struct {
		err  error
		text string
	}{
		"both":      {marketplace.ErrConflict, "commands"},
		"lsp":       {manifest.ErrNoEquivalent, "tenon has no LSP servers"},
		"other-npm": {marketplace.ErrSource, "NPM_CONFIG_REGISTRY"},
		"changed":   {source.ErrMismatch, "SHA-256"},
		"run":       {marketplace.ErrSource, "command to run"},
		"outside":   {marketplace.ErrSource, "leads out"},
		"option":    {marketplace.ErrSource, ""},
		"ext":       {marketplace.ErrSource, ""},
		"branch":    {marketplace.ErrSource, "not a branch or tag"},
		"commit":    {marketplace.ErrSource, "not a full commit"},
		"version":   {marketplace.ErrSource, "must not contain #, @"},
		"path":      {marketplace.ErrSource, "not of kind archive"},
		"strange":   {marketplace.ErrSource, "unknown kind"},
		"gone":      {marketplace.ErrNotFound, "removed"},
		"nothing":   {marketplace.ErrNotFound, ""},
	} {
		s, err := k.Stage(t.Context(), k.target, name+"@market", nil)
		if err == nil || want.err != nil && !errors.Is(err, want.err) || !strings.Contains(err.Error(), want.text) {
			t.Errorf("%s: %+v, %v, want %v with %q", name, s, err, want.err, want.text)
		}
	}
	if _, err := k.Stage(t.Context(), k.target, "plain@nowhere", nil); !errors.Is(err, marketplace.ErrNotFound) {
		t.Errorf("unknown marketplace: %v", err)
	}
}

// TestMarketplaceUpdate checks that only an update of the marketplace changes what its names mean.
func TestMarketplaceUpdate(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	files := map[string]string{
		".agents/plugins/marketplace.json": `{"name": "codex", "plugins": [
			{"name": "a", "source": {"source": "local", "path": "./plugins/a"}, "policy": {"installation": "AVAILABLE"}},
			{"name": "whole", "source": {"source": "url", "url": "./"}}]}`,
		"plugins/a/.codex-plugin/plugin.json": `{"name": "a", "version": "1"}`,
		"plugins/a/skills/one/SKILL.md":       skill("one"),
		"skills/top/SKILL.md":                 skill("top"),
	}
	k.repository(t, "codex", files)
	if _, err := k.Markets.Add(t.Context(), "owner/codex@main", "/"); err != nil {
		t.Fatal(err)
	}
	first, p := k.stageAndSync(t, "a@codex")
	if skills(p) != "one" || p.Host != "Codex" {
		t.Errorf("a@codex = %+v", p)
	}
	if _, p := k.stageAndSync(t, "whole@codex"); skills(p) != "top" {
		t.Errorf("whole@codex = %+v", p)
	}
	k.repository(t, "codex", map[string]string{"plugins/a/skills/two/SKILL.md": skill("two")})
	if s, err := k.Renew(t.Context(), k.target, first.Plugin); err != nil || s.Digest != first.Digest {
		t.Errorf("without an update: %+v, %v", s, err)
	}
	m, err := k.Markets.Update(t.Context(), "codex")
	if err != nil || m.Commit == first.Commit {
		t.Fatalf("Update() = %+v, %v", m, err)
	}
	s, err := k.Renew(t.Context(), k.target, first.Plugin)
	if err != nil || s.Digest == first.Digest || s.Commit != m.Commit {
		t.Errorf("after the update: %+v, %v", s, err)
	}
	k.repository(t, "codex", map[string]string{".agents/plugins/marketplace.json": `{"name": "other", "plugins": []}`})
	if _, err := k.Markets.Update(t.Context(), "codex"); !errors.Is(err, marketplace.ErrTaken) {
		t.Errorf("a marketplace with another name: %v", err)
	}
	if err := k.Markets.Remove(t.Context(), "codex"); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Stage(t.Context(), k.target, "a@codex", &first.Plugin); err != nil {
		t.Errorf("what is installed needs no marketplace: %v", err)
	}
}

// TestMarketplaceAddresses checks which addresses a catalogue from the network may name, and that a project's file names no paths through one.
// answers is a network with one answer.
type answers string

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(string(a))), Request: r}, nil
}

// TestReservedMarketplace: a catalogue from another server must not have the name of an official one. A copy on this machine may.
func TestReservedMarketplace(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	const catalogue = `{"name": "claude-plugins-official", "plugins": []}`
	k.Fetcher.Transport = answers(catalogue)
	if _, err := k.Markets.Add(t.Context(), "https://market.example/m.json", k.top); !errors.Is(err, marketplace.ErrReserved) {
		t.Errorf("Add() = %v, want ErrReserved", err)
	}
	write(t, k.top, map[string]string{"copy/marketplace.json": catalogue})
	for _, address := range []string{"https://ｍarket.example/m.json", "https://market.example/a/../m.json"} {
		if _, err := k.Markets.Add(t.Context(), address, k.top); !errors.Is(err, source.ErrRef) {
			t.Errorf("Add(%s) = %v, want ErrRef", address, err)
		}
	}
	if _, err := k.Markets.Add(t.Context(), "./copy", k.top); err != nil {
		t.Error(err)
	}
}

func TestMarketplaceAddresses(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.repository(t, "tools", map[string]string{".claude-plugin/plugin.json": `{"name": "tools"}`, "skills/a/SKILL.md": skill("a")})
	catalogue := func(address string) string {
		return `{"name": "far", "plugins": [{"name": "tools", "source": {"source": "url", "url": "` + address + `"}}, {"name": "near", "source": "./tools"}, {"name": "linked", "source": "./link"}]}`
	}
	// As if it had been fetched from the network.
	far := func(address string) {
		state := map[string]any{"address": "https://market.example/m.json", "catalogue": json.RawMessage(catalogue(address))}
		data, err := json.Marshal(state)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Dir(k.Markets.File), map[string]string{marketplace.FileName: `{"marketplaces": {"far": "https://market.example/m.json"}}`})
		write(t, k.Markets.Dir, map[string]string{"far.json": string(data)})
	}
	for _, address := range []string{
		k.server.URL + "/tools/.git", "http://localhost:1/x", "http://[::1]:1/x", "file://" + k.top + "/tools", "https://127.0.0.1/x", "https://169.254.169.254/x",
		"ssh://git@127.0.0.1/x", "git@localhost:x/y",
	} {
		far(address)
		if s, err := k.Stage(t.Context(), k.target, "tools@far", nil); !errors.Is(err, source.ErrAddress) {
			t.Errorf("%s: %+v, %v, want ErrAddress", address, s, err)
		}
	}
	far("https://2130706433/x") // 127.0.0.1 to some programs
	if s, err := k.Stage(t.Context(), k.target, "tools@far", nil); err == nil {
		t.Errorf("a number for a host: %+v", s)
	}
	if _, err := k.Stage(t.Context(), k.target, "near@far", nil); !errors.Is(err, marketplace.ErrSource) {
		t.Errorf("a directory next to a single file: %v", err)
	}
	write(t, k.top, map[string]string{"local/marketplace.json": strings.Replace(catalogue(k.server.URL+"/tools/.git"), "far", "local", 1), "local/tools/skills/x/SKILL.md": skill("x")})
	if err := os.Symlink(k.top, filepath.Join(k.top, "local", "link")); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{filepath.Join(k.top, "local"), "~/local/marketplace.json", "./local"} {
		if _, err := k.Markets.Add(t.Context(), address, k.top); err != nil {
			t.Fatalf("%s: %v", address, err)
		}
		for _, name := range []string{"tools", "near"} {
			if _, err := k.Stage(t.Context(), k.target, name+"@local", nil); err != nil {
				t.Errorf("%s of %s: %v", name, address, err)
			}
		}
		if s, err := k.Stage(t.Context(), k.target, "linked@local", nil); !errors.Is(err, marketplace.ErrSource) || !strings.Contains(err.Error(), "through a link") {
			t.Errorf("a link of %s that leads out: %+v, %v", address, s, err)
		}
		if err := k.Markets.Remove(t.Context(), "local"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := k.Markets.Add(t.Context(), filepath.Join(k.top, "local"), "/"); err != nil {
		t.Fatal(err)
	}
	project := install.Target{Path: filepath.Join(t.TempDir(), pins.Name), Project: true}
	if _, err := k.Stage(t.Context(), project, "near@local", nil); !errors.Is(err, install.ErrOutside) {
		t.Errorf("a path for a project: %v", err)
	}
	near, err := k.Stage(t.Context(), k.target, "near@local", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Stage(t.Context(), project, "near@local", &near.Plugin); !errors.Is(err, install.ErrOutside) {
		t.Errorf("a pinned path for a project: %v", err)
	}
	for _, text := range []string{`"ref": "./x", "source": "./y"`, `"ref": "a@b", "source": "c@d"`, `"ref": "a@b"`, `"ref": "a@b", "source": "git+ext::x"`, `"ref": "./x", "definition": {}`} {
		data := fmt.Sprintf(`{"version": 1, "plugins": [{"name": "a", %s, "digest": %q}]}`, text, near.Digest)
		if f, err := pins.Decode([]byte(data)); err == nil {
			t.Errorf("Decode(%s) = %+v", text, f)
		}
	}
}
