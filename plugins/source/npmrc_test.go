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
	f.UserConfig = filepath.Join(t.TempDir(), ".npmrc")
	f.Environ = append(os.Environ(), "CORP_TOKEN=secret")
	set := func(lines ...string) {
		t.Helper()
		if err := os.WriteFile(f.UserConfig, []byte(strings.Join(lines, "\r\n")), 0o600); err != nil {
			t.Fatal(err)
		}
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
		if _, _, err := fetch(t, f, "npm:@corp/x", nil); !errors.Is(err, source.ErrNPMRC) || !strings.Contains(err.Error(), f.UserConfig+":2: @corp:registry") ||
			strings.Contains(strings.ToLower(err.Error()), "hidden") {
			t.Errorf("%s: %v", value, err)
		}
	}
	if _, _, err := fetch(t, f, "npm:single", nil); err != nil {
		t.Errorf("another scope: %v", err)
	}
	f.UserConfig = t.TempDir()
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
	f.UserConfig = filepath.Join(t.TempDir(), ".npmrc")
	if err := os.WriteFile(f.UserConfig, []byte("@corp:registry="+front.URL+"\n"+strings.TrimPrefix(front.URL, "http:")+"/:_authToken=secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := fetch(t, f, "npm:@corp/x", nil); err != nil {
		t.Fatal(err)
	}
	if got := saw(); !slices.Equal(got, []string{"/@corp/x/-/1.0.0.tgz "}) {
		t.Errorf("the other server received %q", got)
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
