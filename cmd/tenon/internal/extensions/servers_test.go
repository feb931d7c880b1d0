package extensions

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/internal/credentials"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/mcp"
	"github.com/tenonhq/tenon/mcp/auth"
	"github.com/tenonhq/tenon/plugins"
	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/plugins/pins"
	"github.com/tenonhq/tenon/plugins/trust"
	"github.com/tenonhq/tenon/sdk"
)

func newSet(t *testing.T) *Set {
	t.Helper()
	project := sdk.Project{Directory: t.TempDir(), DataDir: t.TempDir(), ConfigDir: t.TempDir()}
	o := plugins.Options{Project: project, Logger: slog.New(slog.DiscardHandler)}
	store := credentials.Open(filepath.Join(project.DataDir, credentials.File))
	return &Set{Loader: plugins.New(o), opts: Options{Options: o, Config: &config.Loaded{Config: &sdk.Config{}}, Credentials: store}}
}

// packaged returns a server of package x that gets TOKEN in a header.
func packaged(t *testing.T, data, token string) plugins.Server {
	t.Helper()
	s := plugins.Server{Plugin: "x", Name: "far", Root: t.TempDir(), Data: data, Entry: manifest.Server{
		Type: manifest.ServerHTTP, Variables: []string{"TOKEN"},
		Remote: manifest.Remote{URL: "https://far.example/mcp", Headers: map[string]string{"X-Token": "${TOKEN}"}},
	}}
	if token != "" {
		s.Granted = map[string]string{"TOKEN": token}
	}
	return s
}

// TestPackagedServerKey: a reload keeps a server only with the variables that it has.
func TestPackagedServerKey(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	one := packaged(t, t.TempDir(), "first")
	other := one
	other.Granted = map[string]string{"TOKEN": "second"}
	for _, p := range []plugins.Server{one, one, other} {
		if err := s.packagedServer(p); err != nil {
			t.Fatal(err)
		}
	}
	if key := func(n int) string { return s.Candidates[n].key }; key(0) != key(1) || key(0) == key(2) {
		t.Errorf("keys %q, %q, %q", key(0), key(1), key(2))
	}
}

// TestQuarantineOfTheLoadedServer: of two servers with one name, the quarantine is of the one that is loaded.
func TestQuarantineOfTheLoadedServer(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	s.store = trust.OpenStore(filepath.Join(t.TempDir(), trust.LockFile))
	far := &mcp.Server{Name: "far", Transport: mcp.TransportHTTP, URL: "https://far.example/mcp"}
	item := trust.Item{Kind: trust.KindServer, Name: "far", Source: "/project/.mcp.json", Digest: trust.Digest("sha256:" + strings.Repeat("0", 64))}
	if err := s.store.Approve(t.Context(), item, nil, nil); err != nil {
		t.Fatal(err)
	}
	s.addServer(&Candidate{Kind: trust.KindServer, Name: "far", Project: true, State: plugins.StateReady, Server: far, trusted: item})
	if err := s.packagedServer(packaged(t, t.TempDir(), "a")); err != nil {
		t.Fatal(err)
	}
	s.distinct()
	if list := s.Plugins(); len(list) != 1 || len(s.Warnings) != 1 {
		t.Errorf("%d plugins of one name, warnings %q", len(list), s.Warnings)
	}
	if err := s.Quarantine(t.Context(), "mcp.far", "three failures"); err != nil {
		t.Fatal(err)
	}
	if list, err := s.store.Read(); err != nil || list[0].Quarantined != "three failures" {
		t.Errorf("entries %+v, %v", list, err)
	}
}

// TestPackagedServerIsPlaced: a server of a package starts in its folder and has its variables. The approval is for its text.
func TestPackagedServerIsPlaced(t *testing.T) {
	t.Parallel()
	root, data := projectfs.Real(t.TempDir()), t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "run"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/bin/sh", filepath.Join(root, "escape")); err != nil {
		t.Fatal(err)
	}
	p := plugins.Server{Plugin: "x", Name: "near", Root: root, Data: data, Granted: map[string]string{"TOKEN": "a"}, Entry: manifest.Server{
		Type: manifest.ServerStdio, Stdio: manifest.Stdio{
			Command: "./run", Args: []string{"${PLUGIN_ROOT}/a", "${CLAUDE_PROJECT_DIR}"}, Env: map[string]string{"WHERE": "${PLUGIN_DATA}/x", "PLUGIN_ROOT": "stolen"},
		}, Variables: []string{"CLAUDE_PROJECT_DIR"},
	}}
	s := newSet(t)
	s.opts.Project.Worktree = "/project"
	if err := s.packagedServer(p); err != nil {
		t.Fatal(err)
	}
	got := s.Candidates[0].Server
	want := map[string]string{"PLUGIN_ROOT": root, "PLUGIN_DATA": data, "CLAUDE_PLUGIN_ROOT": root, "CLAUDE_PLUGIN_DATA": data, "CLAUDE_PROJECT_DIR": "/project", "WHERE": data + "/x", "TOKEN": "a"}
	if got.Command != filepath.Join(root, "run") || got.Cwd != root || !slices.Equal(got.Args, []string{root + "/a", "/project"}) || !maps.Equal(got.Env, want) {
		t.Errorf("started: %s %q in %s with %q", got.Command, got.Args, got.Cwd, got.Env)
	}
	if text := string(got.Definition()); !strings.Contains(text, "${PLUGIN_ROOT}/a") || strings.Contains(text, "TOKEN") {
		t.Errorf("definition: %s", text)
	}
	p.Entry.Command = "./escape"
	if err := s.packagedServer(p); err == nil || !strings.Contains(err.Error(), "leads out of the package") {
		t.Errorf("a program outside of the package: %v", err)
	}
}

// TestPackagedServerRemedy: the variable and the commands that grant it are named.
func TestPackagedServerRemedy(t *testing.T) {
	t.Parallel()
	err := newSet(t).packagedServer(packaged(t, t.TempDir(), ""))
	if err == nil || !strings.Contains(err.Error(), "variable TOKEN is not set; set it") || !strings.HasSuffix(err.Error(), "if you did not grant it: tenon plugin untrust x, then tenon plugin trust x") {
		t.Errorf("packagedServer() = %v", err)
	}
}

// TestProjectServerShowsNames: the question about a project's server names the variables it gets. Their values are secrets of the user.
func TestProjectServerShowsNames(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	s.opts.Environ = []string{"TOKEN=abc-secret-xyz"}
	path := filepath.Join(s.opts.Project.Directory, ProjectServerFile)
	if err := os.WriteFile(path, []byte(`{"mcpServers": {
		"address": {"url": "https://far.example/${TOKEN}"}, "header": {"url": "https://far.example/", "headers": {"A": "Bearer ${TOKEN}"}},
		"argument": {"command": "sh", "args": ["-c", "echo ${TOKEN}"]}, "environment": {"command": "sh", "env": {"X": "${TOKEN:-none}", "Y": "${TOKEN}"}}
	}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if s.serverFile(t.Context(), path, true); len(s.Candidates) != 4 {
		t.Fatalf("%+v, %v", s.Candidates, s.Warnings)
	}
	for _, c := range s.Candidates {
		if text := strings.Join(c.Lines, "\n"); strings.Contains(text, "secret") || !strings.HasSuffix(text, "\ntakes TOKEN from your environment") {
			t.Errorf("%s: %s", c.Name, text)
		}
	}
}

// TestProjectServerShowsKept: the question about a server of the user that a project changes names what it keeps.
func TestProjectServerShowsKept(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	s.opts.Config.Origins = map[string]config.Origin{"mcp.docs.headers.X": {Layer: config.LayerUser}, "mcp.docs.url": {Layer: config.LayerProject}}
	s.server(t.Context(), mcp.Server{Name: "docs", Transport: mcp.TransportHTTP, URL: "https://far.example/mcp"}, true, "mcp.docs")
	if c := s.Candidates[0]; !slices.Contains(c.Lines, "with mcp.docs.headers.X of your own configuration") {
		t.Errorf("%q", c.Lines)
	}
}

// TestSignInOfOnePackage: a package does not use the sign-in of another one with its name and server.
func TestSignInOfOnePackage(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	for _, lock := range []string{"/one/tenon.plugins.lock", "/other/tenon.plugins.lock"} {
		data, _ := s.Loader.Stored(&plugins.Installed{Plugin: pins.Plugin{Name: "x"}, Lock: lock})
		if err := s.packagedServer(packaged(t, data, "a")); err != nil {
			t.Fatal(err)
		}
	}
	one, other := s.Candidates[0], s.Candidates[1]
	token := &credentials.Credential{Type: credentials.TypeOAuth, Access: "a", Client: &credentials.Client{
		ID: "c", Issuer: "https://far.example", TokenURL: "https://far.example/t", Resource: one.Server.URL, Definition: one.Server.TokenScope(),
	}}
	if err := s.opts.Credentials.Put(t.Context(), token.Client.Name(), token); err != nil {
		t.Fatal(err)
	}
	if c, err := s.SignIn(one); err != nil || c.Access != "a" {
		t.Errorf("SignIn() of the package = %+v, %v", c, err)
	}
	if c, err := s.SignIn(other); !errors.Is(err, credentials.ErrNotFound) {
		t.Errorf("SignIn() of the other package = %+v, %v, want ErrNotFound", c, err)
	}
}

// TestLogoutWithoutSignIn: the token of a server whose sign-in was switched off since can still be removed.
func TestLogoutWithoutSignIn(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	server := func(name string, c auth.Config, headers map[string]string) *Candidate {
		return &Candidate{Name: name, State: plugins.StateReady, Server: &mcp.Server{
			Name: name, Transport: mcp.TransportHTTP, URL: "https://far.example/mcp", OAuth: c, Headers: headers, Own: true,
		}}
	}
	token := &credentials.Credential{Type: credentials.TypeOAuth, Access: "a", Client: &credentials.Client{
		ID: "c", Configured: "c", Issuer: "https://far.example", TokenURL: "https://far.example/t", Resource: "https://far.example/mcp",
	}}
	for name, off := range map[string]*Candidate{
		"oauth is false": server("a", auth.Config{Off: true}, nil), "a header": server("b", auth.Config{ClientID: "c"}, map[string]string{"authorization": "x"}),
	} {
		if err := s.opts.Credentials.Put(t.Context(), token.Client.Name(), token); err != nil {
			t.Fatal(err)
		}
		if c, err := s.SignIn(off); !errors.Is(err, ErrNoSignIn) {
			t.Errorf("%s: SignIn() = %+v, %v, want ErrNoSignIn", name, c, err)
		}
		if err := s.Logout(t.Context(), off); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := s.opts.Credentials.All(); err != nil || len(left) != 0 {
			t.Errorf("%s: %d tokens are left, %v", name, len(left), err)
		}
	}
}

// TestStored: what a plugin stored does not include the sign-ins of another one with its name.
func TestStored(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	in := &plugins.Installed{Plugin: pins.Plugin{Name: "x"}, Lock: "/one/tenon.plugins.lock"}
	other := &plugins.Installed{Plugin: pins.Plugin{Name: "x"}, Lock: "/other/tenon.plugins.lock"}
	data, _ := s.Loader.Stored(in)
	if err := s.packagedServer(packaged(t, data, "a")); err != nil {
		t.Fatal(err)
	}
	c := s.Candidates[0]
	token := &credentials.Credential{Type: credentials.TypeOAuth, Access: "a", Client: &credentials.Client{
		ID: "c", Issuer: "https://far.example", TokenURL: "https://far.example/t", Resource: c.Server.URL, Definition: c.Server.TokenScope(),
	}}
	if err := s.opts.Credentials.Put(t.Context(), "mcp:far", token); err != nil {
		t.Fatal(err)
	}
	for which, want := range map[*plugins.Installed]bool{in: true, other: false} {
		if stored, _, err := s.Stored(which); err != nil || slices.Contains(stored, "mcp:far") != want {
			t.Errorf("Stored(%s) = %q, %v, want the sign-in: %v", which.Source(), stored, err, want)
		}
	}
}

// TestMeetGivesEachItsTime: a server that is started after others that hang is asked too.
func TestMeetGivesEachItsTime(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	var asked sync.Map
	far := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked.Store(r.URL.Path, true)
		_, _ = io.Copy(io.Discard, r.Body) // so that the end of the connection is seen
		<-r.Context().Done()
	}))
	t.Cleanup(far.Close)
	const servers = 2*maxProbes + 1
	for i := range servers {
		s.Candidates = append(s.Candidates, &Candidate{
			Name: strconv.Itoa(i), State: plugins.StateReady,
			Server: &mcp.Server{Name: strconv.Itoa(i), Transport: mcp.TransportHTTP, URL: fmt.Sprint(far.URL, "/", i), Timeout: time.Second, Own: true},
		})
	}
	s.Meet(t.Context(), time.Minute, func([]string, time.Duration) {})
	for i := range servers {
		if _, ok := asked.Load(fmt.Sprint("/", i)); !ok {
			t.Errorf("server %d was not asked", i)
		}
	}
}

// TestMeetNamesOnlyWaiting: a server that has answered is not waited for, although the outcome cannot be stored.
func TestMeetNamesOnlyWaiting(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	if err := os.Symlink("nowhere", s.serverDir()); err != nil { // records are not found and cannot be written
		t.Fatal(err)
	}
	named := make(chan []string, 1)
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/fails" {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		select {
		case list := <-named:
			named <- list // for the test
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(far.Close)
	for _, name := range []string{"fails", "hangs"} {
		s.Candidates = append(s.Candidates, &Candidate{
			Name: name, State: plugins.StateReady, Server: &mcp.Server{Name: name, Transport: mcp.TransportHTTP, URL: far.URL + "/" + name, Own: true},
		})
	}
	s.Meet(t.Context(), time.Minute, func(names []string, _ time.Duration) { named <- names })
	close(named)
	if got := <-named; !slices.Equal(got, []string{"hangs"}) {
		t.Errorf("waiting for %q, want only the server that hangs", got)
	}
}

// TestSimilarNames: of two servers whose plugins would have one name, the first is loaded, because the host refuses two.
func TestSimilarNames(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	off := false
	s.opts.Config.Config.MCP = map[string]sdk.MCPConfig{
		"docs-1": {Type: "remote", URL: "https://a.example/mcp"}, "docs_1": {Type: "remote", URL: "https://b.example/mcp"},
		"other": {Enabled: &off}, "Other": {Type: "remote", URL: "https://c.example/mcp"},
	}
	s.servers(t.Context(), nil)
	if list := s.Plugins(); len(list) != 2 || list[0].Manifest().Name != "mcp.other" || list[1].Manifest().Name != "mcp.docs-1" {
		t.Errorf("%d plugins of the candidates %v", len(list), s.Candidates)
	}
	if len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], `has the server "docs-1", whose name is too similar`) {
		t.Errorf("warnings %q", s.Warnings)
	}
}
