package source_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/tenonhq/tenon/plugins/source"
	"github.com/tenonhq/tenon/plugins/source/sourcetest"
)

// watched moves a registry to a server that serves it below a path, and returns the requests to the server so far, each with its token.
func watched(t *testing.T, n *sourcetest.NPM, below string) func() []string {
	var mu sync.Mutex
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = append(seen, r.URL.Path+" "+r.Header.Get("Authorization"))
		mu.Unlock()
		http.StripPrefix(below, n).ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	n.URL = server.URL + below
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(seen)
	}
}

// userNPMRC writes a file as the user's .npmrc.
func userNPMRC(t *testing.T, file string, environ []string, lines ...string) func() (source.NPMSettings, error) {
	t.Helper()
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\r\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return source.UserNPMRC("", file, "", environ)
}

// TestNPMRC: the user's .npmrc gives a scope its registry and its token, for packages and for their dependencies. Neither registry learns of
// the other's packages or token.
func TestNPMRC(t *testing.T) {
	t.Parallel()
	public, private := sourcetest.NewNPM(t), sourcetest.NewNPM(t)
	private.Token = "secret"
	publicSaw, privateSaw := watched(t, public, ""), watched(t, private, "/npm/corp")
	for _, version := range []string{"9.0.0", "9.1.0"} { // confusable packages
		public.Add(t, map[string]string{"package.json": `{"name":"@corp/x","version":"` + version + `"}`})
		public.Add(t, map[string]string{"package.json": `{"name":"@corp/y","version":"` + version + `"}`})
	}
	public.Add(t, map[string]string{"package.json": `{"name":"two","version":"1.0.0","dependencies":{"y":"npm:@corp/y@*"}}`})
	public.Add(t, map[string]string{"package.json": `{"name":"single","version":"1.0.0"}`})
	private.Add(t, map[string]string{"package.json": `{"name":"@corp/x","version":"1.0.0","dependencies":{"two":"1","@corp/y":"*"}}`})
	y := map[string]string{"package.json": `{"name":"@corp/y","version":"1.0.0"}`}
	private.Add(t, y)
	tarball, err := sourcetest.Tarball("package/", y)
	if err != nil {
		t.Fatal(err)
	}
	private.Add(t, map[string]string{
		"package.json": `{"name":"@corp/wrapped","version":"1.0.0","dependencies":{"@corp/y":"*"}}`,
		"npm-shrinkwrap.json": `{"lockfileVersion":3,"packages":{"node_modules/@corp/y":{"version":"1.0.0","resolved":"` + private.URL + `/@corp/y/-/1.0.0.tgz",
			"integrity":"` + sourcetest.Integrity(tarball) + `"}}}`,
	})
	f := fetcher(t)
	f.Environ = append(os.Environ(), "CORP_TOKEN=secret")
	file := filepath.Join(t.TempDir(), ".npmrc")
	set := func(lines ...string) {
		t.Helper()
		f.UserConfig = userNPMRC(t, file, f.Environ, lines...)
	}
	host := strings.TrimPrefix(strings.TrimSuffix(private.URL, "/npm/corp"), "http:")
	scope, token := "@corp:registry="+private.URL+"/", host+"/npm/corp/:_authToken=${CORP_TOKEN}"
	set("; comment", "registry = '"+public.URL+"/'", scope, token, host+"/npm/:_authToken=wrong", host+"/npm/corporate/:_authToken=wrong")
	out, files, err := fetch(t, f, "npm:@corp/x", nil)
	if err != nil || out.Version != "1.0.0" || !strings.HasPrefix(out.URL, private.URL) {
		t.Fatalf("Fetch() = %+v, %v", out, err)
	}
	for _, place := range []string{"node_modules/@corp/y", "node_modules/y"} {
		if text := files[place+"/package.json"]; text != y["package.json"] {
			t.Errorf("%s: %s", place, text)
		}
	}
	if text := string(out.Packages); strings.Contains(text, "127.0.0.1") || strings.Contains(text, "secret") {
		t.Errorf("packages: %s", text)
	}
	f.Cache = t.TempDir()
	if _, again, err := fetch(t, f, "npm:@corp/x", &out.Pin); err != nil || len(again) != len(files) {
		t.Errorf("from the pin: %v, %v", err, again)
	}
	if _, files, err := fetch(t, f, "npm:@corp/wrapped", nil); err != nil || files["node_modules/@corp/y/package.json"] != y["package.json"] {
		t.Errorf("shrinkwrap: %v, %v", err, files)
	}
	good := f.UserConfig
	set("registry=http://unusable.example/", "@corp:registry=http://unusable.example/")
	if _, again, err := fetch(t, f, "npm:@corp/x", &out.Pin); err != nil || len(again) != len(files) {
		t.Errorf("from the cache with unusable settings: %v, %v", err, again)
	}
	f.UserConfig = good
	for _, r := range publicSaw() {
		if strings.Contains(r, "@corp") || !strings.HasSuffix(r, " ") {
			t.Errorf("the public registry received %q", r)
		}
	}
	for _, r := range privateSaw() {
		if !strings.HasPrefix(r, "/npm/corp/@corp/") || !strings.HasSuffix(r, " Bearer secret") {
			t.Errorf("the private registry received %q", r)
		}
	}
	set("@corp:registry="+strings.Replace(private.URL, "://", "://user:password@", 1), token)
	if _, _, err := fetch(t, f, "npm:@corp/x@9", nil); !errors.Is(err, source.ErrNotFound) ||
		!strings.Contains(err.Error(), strings.Replace(private.URL, "://", "://user:xxxxx@", 1)) {
		t.Errorf("a version that the registry does not have: %v", err)
	}
	f.UserConfig = good

	// The variables select the default registry, and their token is for no other.
	f.Registry, f.Token = public.URL, "other"
	set("registry=http://127.0.0.1:1/", scope, token)
	if _, _, err := fetch(t, f, "npm:@corp/x", nil); err != nil {
		t.Error(err)
	}
	if saw := publicSaw(); saw[len(saw)-1] != "/two Bearer other" && saw[len(saw)-1] != "/two/-/1.0.0.tgz Bearer other" {
		t.Errorf("the public registry received %q", saw)
	}
	set(scope)
	if out, _, err := fetch(t, f, "npm:@corp/x", nil); err == nil || strings.HasSuffix(slices.Max(privateSaw()), "other") {
		t.Errorf("without a token: %+v, %v", out, err)
	}
	// A setting that cannot be used is not ignored, which would mean the public registry.
	for _, value := range []string{"hidden", "http://hidden.example/", "https:///hidden", "${HIDDEN}", "//hidden", "ssh://hidden/x"} {
		set("", "@corp:registry="+value)
		if _, _, err := fetch(t, f, "npm:@corp/x", nil); !errors.Is(err, source.ErrNPMRC) || !strings.Contains(err.Error(), file+":2: @corp:registry") ||
			strings.Contains(strings.ToLower(err.Error()), "hidden") {
			t.Errorf("%s: %v", value, err)
		}
	}
	if _, _, err := fetch(t, f, "npm:single", nil); err != nil {
		t.Errorf("another scope: %v", err)
	}
	f.UserConfig = source.UserNPMRC("", t.TempDir(), "", nil)
	if _, _, err := fetch(t, f, "npm:@corp/x", nil); !errors.Is(err, source.ErrNPMRC) {
		t.Errorf("a directory: %v", err)
	}
}

// TestNPMRCRedirect: a token stays with the server that it is for.
func TestNPMRCRedirect(t *testing.T) {
	t.Parallel()
	storage := sourcetest.NewNPM(t)
	saw := watched(t, storage, "")
	private := sourcetest.NewNPM(t)
	private.Token = "secret"
	x := map[string]string{"package.json": `{"name":"@corp/x","version":"1.0.0"}`}
	storage.Add(t, x)
	private.Add(t, x)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/-/") {
			http.Redirect(w, r, storage.URL+r.URL.Path, http.StatusFound)
			return
		}
		private.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	private.URL = front.URL
	f := fetcher(t)
	f.UserConfig = userNPMRC(t, filepath.Join(t.TempDir(), ".npmrc"), nil, "@corp:registry="+front.URL, strings.TrimPrefix(front.URL, "http:")+"/:_authToken=secret")
	if _, _, err := fetch(t, f, "npm:@corp/x", nil); err != nil {
		t.Fatal(err)
	}
	if got := saw(); !slices.Equal(got, []string{"/@corp/x/-/1.0.0.tgz "}) {
		t.Errorf("the other server received %q", got)
	}
}

// TestNPMToken: each address has the token that the user gave for it.
func TestNPMToken(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), ".npmrc")
	environ := []string{"NPM_TOKEN=corporate"}
	for name, c := range map[string]struct {
		registry, pkg, want string // NPM_CONFIG_REGISTRY; "TOKEN ADDRESS"
		lines               []string
	}{
		"public":           {"", "x", "corporate https://registry.npmjs.org/x", nil},
		"of a scope":       {"", "x", " https://registry.npmjs.org/x", []string{"@corp:registry=https://npm.corp/", "//npm.corp/:_authToken=${NPM_TOKEN}"}},
		"in the scope":     {"", "@corp/x", "corporate https://npm.corp/@corp/x", []string{"@corp:registry=https://npm.corp/", "//npm.corp/:_authToken=${NPM_TOKEN}"}},
		"of both":          {"https://npm.corp", "x", "corporate https://npm.corp/x", []string{"//npm.corp/y/:_authToken=${NPM_TOKEN}"}},
		"missing variable": {"", "x", "corporate https://registry.npmjs.org/x", []string{"//registry.npmjs.org/:_authToken=${ABSENT}"}},
		"missing in scope": {"", "@corp/x", " https://npm.corp/@corp/x", []string{"@corp:registry=https://npm.corp/", "//npm.corp/:_authToken=${ABSENT}"}},
		"default port":     {"", "@corp/x", "a https://NPM.corp:443/@corp/x", []string{"@corp:registry=https://NPM.corp:443/", "//npm.corp/:_authToken=a"}},
		"case of a key":    {"", "@corp/x", "a https://npm.corp/y/@corp/x", []string{"@corp:registry=https://npm.corp/y", "//NPM.corp:443/y/:_authToken=a"}},
		"no scheme":        {"npm.corp.example", "x", " npm.corp.example/x", nil},
		"no host":          {"localhost:4873", "x", " localhost:4873/x", nil},
		"a path":           {"/x", "x", " /x/x", nil},
		"only a port":      {"https://:443", "x", " https://:443/x", nil},
	} {
		f := &source.Fetcher{Registry: c.registry, Token: "corporate", UserConfig: userNPMRC(t, file, environ, c.lines...)}
		r, err := f.RegistryOf(c.pkg)
		address := r.URL + "/" + c.pkg
		if got := strings.TrimPrefix(r.Authorization(address), "Bearer ") + " " + address; err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
		}
		f.Token = ""
		r, err = f.RegistryOf(c.pkg)
		if got := r.Authorization(address); err != nil || strings.Contains(got, "corporate") != (len(c.lines) > 0 && c.pkg == "@corp/x" && strings.HasPrefix(c.want, "corporate")) {
			t.Errorf("%s without NPM_TOKEN: %q, %v", name, got, err)
		}
	}
}

// TestNPMTarballs: a tarball elsewhere on the registry's server needs the credentials of its path, or of the registry, as in npm.
func TestNPMTarballs(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), ".npmrc")
	for name, c := range map[string]struct{ line, address, want string }{
		"of the registry": {"//npm.corp/groups/1/npm/:_authToken=a", "https://npm.corp/projects/7/x.tgz", "Bearer a"},
		"of the path":     {"//npm.corp/projects/7/:_authToken=b", "https://npm.corp/projects/7/x.tgz", "Bearer b"},
		"of both":         {"//npm.corp/groups/1/npm/:_authToken=a\n//npm.corp/projects/:_authToken=b", "https://npm.corp/projects/7/x.tgz", "Bearer b"},
		"of another path": {"//npm.corp/projects/:_authToken=b", "https://npm.corp/groups/1/npm/x", ""},
		"another server":  {"//npm.corp/groups/1/npm/:_authToken=a\n//files.corp/:_authToken=b", "https://files.corp/x.tgz", ""},
		"another scheme":  {"//npm.corp/groups/1/npm/:_authToken=a", "http://npm.corp/groups/1/npm/x.tgz", ""},
		"a password":      {"//npm.corp/groups/1/npm/:_auth=dTpw", "https://npm.corp/projects/7/x.tgz", "Basic dTpw"},
		"a token first":   {"//npm.corp/groups/1/npm:_auth=dTpw\n//npm.corp/groups/1/npm:_authToken=a", "https://npm.corp/groups/1/npm/x", "Bearer a"},
		"no variable":     {"//npm.corp/groups/1/npm/:_authToken=${ABSENT}\n//npm.corp/:_auth=${ABSENT}", "https://npm.corp/groups/1/npm/x", ""},
	} {
		f := &source.Fetcher{UserConfig: userNPMRC(t, file, nil, "@corp:registry=https://npm.corp/groups/1/npm/", c.line)}
		r, err := f.RegistryOf("@corp/x")
		if got := r.Authorization(c.address); err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
		}
	}
}

// TestUserNPMRC: the user's settings are read once, and never from the project.
func TestUserNPMRC(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	project := filepath.Join(home, "project")
	mkdir(t, project)
	lines := "@corp:registry=https://npm.corp\n"
	for _, file := range []string{filepath.Join(home, ".npmrc"), filepath.Join(home, "other"), filepath.Join(project, ".npmrc")} {
		if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		home, named, project string
		fails                bool
	}{
		{home, "", project, false}, {home, "~/other", project, false}, {home, filepath.Join(home, "other"), project, false},
		{home, filepath.Join(home, "other"), home, false}, // all of the user's files are in this project
		{home, filepath.Join(home, ".npmrc"), project, false}, {project, "", project, false}, {project, filepath.Join(project, ".npmrc"), project, false},
		{home, ".npmrc", project, true}, {"", "~/other", project, true}, {home, "~/project/.npmrc", project, true},
		{home, filepath.Join(project, ".npmrc"), project, true}, {"", filepath.Join(project, ".npmrc"), project, true},
	} {
		f := &source.Fetcher{UserConfig: source.UserNPMRC(c.home, c.named, c.project, nil)}
		if r, err := f.RegistryOf("@corp/x"); errors.Is(err, source.ErrNPMRC) != c.fails || !c.fails && r.URL != "https://npm.corp" {
			t.Errorf("%+v: %+v, %v", c, r, err)
		}
	}
	f := &source.Fetcher{UserConfig: source.UserNPMRC(home, "", project, nil)}
	for range 2 {
		if r, err := f.RegistryOf("@corp/x"); err != nil || r.URL != "https://npm.corp" {
			t.Errorf("%+v, %v", r, err)
		}
		if err := os.WriteFile(filepath.Join(home, ".npmrc"), nil, 0o600); err != nil { // as a pipe is when it was read
			t.Fatal(err)
		}
	}
	f = &source.Fetcher{UserConfig: source.UserNPMRC(filepath.Join(home, "other"), "", project, nil)}
	if r, err := f.RegistryOf("x"); err != nil {
		t.Errorf("a home that is not a directory: %+v, %v", r, err)
	}
}

// TestReadNPMRC reads lines as npm does.
func TestReadNPMRC(t *testing.T) {
	t.Parallel()
	environ := []string{"A=a", "EMPTY="}
	for line, want := range map[string]string{
		"key=v": "v", " key = v ": "v", `"key"="v ; w"`: "v ; w", "'key'='v#'": "v#", "key=v ; comment": "v", "key=v#c": "v", "key=a=b": "a=b",
		"key=${A}-${A}": "a-a", "key=${B}": "${B}", "key=${B?}": "", "key=${EMPTY}x": "x", "key='${A}'": "a", "\ufeffkey=v": "v", "key=v\r": "v",
		"${B?}key=v": "v", "key=1\nkey=2": "2", "#key=v": "", ";key=v": "", "key": "", "=key": "", "key=": "", "key[]=v": "", "a;key=v": "",
	} {
		if got, _ := source.ReadNPMRC(line, "key", environ); got != want {
			t.Errorf("readNPMRC(%q) = %q, want %q", line, got, want)
		}
	}
}

// FuzzNPMRC: no line hides the next one, or changes its place.
func FuzzNPMRC(f *testing.F) {
	for _, text := range []string{"registry=https://r/", "; c", "'k'=\"v", "//h/:_authToken=${T}", "[s]", "k=\\", "\ufeff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want := strings.Count(text, "\n") + 2
		value, place := source.ReadNPMRC(text+"\n@corp:registry = https://r/ ; c", "@corp:registry", []string{"T=t"})
		if line, _, _ := strings.Cut(place, ":"); value != "https://r/" || line != strconv.Itoa(want) {
			t.Errorf("readNPMRC(%q): %q, %s", text, value, place)
		}
	})
}
