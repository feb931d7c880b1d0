package install_test

import (
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/tenonhq/tenon/plugins/install"
	"github.com/tenonhq/tenon/plugins/pins"
	"github.com/tenonhq/tenon/plugins/signature"
	"github.com/tenonhq/tenon/plugins/source"
	"github.com/tenonhq/tenon/plugins/source/sourcetest"
	"github.com/tenonhq/tenon/sdk"
)

// fronted is a server that leads all requests to another one.
type fronted struct {
	front, back string // addresses
	requests    atomic.Int64
}

// lead starts a server that redirects what leads selects, and answers the rest by handler. back answers the redirected requests.
func lead(t *testing.T, back, handler http.Handler, leads func(*http.Request) bool) *fronted {
	t.Helper()
	out := &fronted{}
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out.requests.Add(1)
		back.ServeHTTP(w, r)
	}))
	t.Cleanup(far.Close)
	near := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if leads(r) {
			http.Redirect(w, r, far.URL+r.URL.RequestURI(), http.StatusFound)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(near.Close)
	out.front, out.back = near.URL, far.URL
	return out
}

func all(*http.Request) bool { return true }

// TestPolicyJudgesRedirects: a denied address receives no request, whatever server leads to it. An archive comes only from allowed addresses;
// what registries pin may come from others.
func TestPolicyJudgesRedirects(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.files["/a.zip"] = zipOf(t, map[string]string{".claude-plugin/plugin.json": `{"name": "a"}`, "skills/s/SKILL.md": skill("s")})
	k.repository(t, "tools", map[string]string{".claude-plugin/plugin.json": `{"name": "tools"}`, "skills/a/SKILL.md": skill("a")})
	web := lead(t, k.server.Config.Handler, nil, all)
	blobs := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	images := lead(t, blobs, blobs, func(r *http.Request) bool {
		return r.Method == http.MethodGet && path.Base(path.Dir(r.URL.Path)) == "blobs"
	})
	name := strings.TrimPrefix(images.front, "http://") + "/o/p"
	content, err := sourcetest.Tarball("", map[string]string{".claude-plugin/plugin.json": `{"name": "b"}`, "skills/s/SKILL.md": skill("s")})
	if err != nil {
		t.Fatal(err)
	}
	pushed := source.Ref{Kind: source.OCI, URL: name, Version: "v1"}
	if _, err := k.Fetcher.Push(t.Context(), pushed, []byte("{}"), content, nil); err != nil {
		t.Fatal(err)
	}
	var guarded *fronted // its token server is another server
	issue := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"token": "t"}`) })
	guarded = lead(t, issue, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer t" {
			w.Header().Set("WWW-Authenticate", `Bearer realm="`+guarded.back+`/token",service="s"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		blobs.ServeHTTP(w, r)
	}), func(*http.Request) bool { return false })
	guardedName := strings.TrimPrefix(guarded.front, "http://") + "/o/p"
	tarball := func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, ".tgz") }
	var packages [2]*fronted
	for i := range packages {
		npm := sourcetest.NewNPM(t)
		npm.Add(t, map[string]string{"package.json": `{"name":"c","version":"1.0.0"}`, ".claude-plugin/plugin.json": `{"name":"c"}`, "skills/s/SKILL.md": skill("s")})
		packages[i] = lead(t, npm, npm, tarball)
		npm.URL = []string{packages[i].front, packages[i].back}[i] // where the registry says that tarballs are
	}

	for kind, test := range map[string]struct {
		server         *fronted
		ref, allow     string
		onlyFrontWorks bool
	}{
		"archive":         {web, web.front + "/a.zip", web.front, false},
		"git":             {web, "git+" + web.front + "/tools/.git", "git+" + web.front, false},
		"oci":             {images, pushed.String(), "oci://" + name, true},
		"oci, token":      {guarded, "oci://" + guardedName + ":v1", "oci://" + guardedName, true},
		"npm, redirected": {packages[0], "npm:c", "npm:c", true},
		"npm, named":      {packages[1], "npm:c", "npm:c", true},
	} {
		t.Run(kind, func(t *testing.T) {
			stage := func(c sdk.PluginPolicy) (int64, error) {
				in := installer(t, k.Fetcher.Environ, "")
				in.Fetcher.Registry = test.server.front
				if in.Policy, err = signature.New(c, signature.Sigstore{}); err != nil {
					t.Fatal(err)
				}
				before := test.server.requests.Load()
				_, err := in.Stage(t.Context(), install.Target{Path: filepath.Join(t.TempDir(), pins.Name)}, test.ref, nil)
				return test.server.requests.Load() - before, err
			}
			if n, err := stage(sdk.PluginPolicy{}); err != nil || n == 0 {
				t.Errorf("without a policy: %d requests, %v", n, err)
			}
			if n, err := stage(sdk.PluginPolicy{Deny: []string{test.server.back}}); n > 0 || err == nil || kind != "git" && !errors.Is(err, signature.ErrDenied) {
				t.Errorf("denied: %d requests, %v", n, err)
			}
			n, err := stage(sdk.PluginPolicy{Allow: []string{test.allow}})
			if works := n > 0 && err == nil; works != test.onlyFrontWorks || !works && n > 0 {
				t.Errorf("only the first address is allowed: %d requests, %v", n, err)
			}
			n, err = stage(sdk.PluginPolicy{Allow: []string{test.allow, test.server.back}})
			if works := n > 0 && err == nil; works != (kind != "git") {
				t.Errorf("both are allowed: %d requests, %v", n, err)
			}
		})
	}
}

// TestPolicyJudgesMarketplaceRedirects: the address of a catalogue is judged in the same way.
func TestPolicyJudgesMarketplaceRedirects(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.files["/market.json"] = []byte(`{"name": "m", "owner": {"name": "o"}, "plugins": []}`)
	web := lead(t, k.server.Config.Handler, nil, all)
	for _, c := range []sdk.PluginPolicy{{Deny: []string{web.back}}, {Allow: []string{web.front}}} {
		k.policy(t, c, "")
		k.Markets.Policy = k.Policy
		if m, err := k.Markets.Add(t.Context(), web.front+"/market.json", "/"); !errors.Is(err, signature.ErrDenied) || web.requests.Load() > 0 {
			t.Errorf("%+v: %+v, %v after %d requests", c, m, err, web.requests.Load())
		}
	}
	k.Markets.Policy = signature.Policy{}
	if _, err := k.Markets.Add(t.Context(), web.front+"/market.json", "/"); err != nil {
		t.Error(err)
	}
}

// TestPolicyJudgesRedirectWithin: a redirect to a denied path of the same server is not followed.
func TestPolicyJudgesRedirectWithin(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	mux := http.NewServeMux()
	mux.Handle("/a.zip", http.RedirectHandler("/denied/a.zip", http.StatusFound))
	mux.HandleFunc("/denied/", func(http.ResponseWriter, *http.Request) { requests.Add(1) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	in := installer(t, nil, "")
	var err error
	if in.Policy, err = signature.New(sdk.PluginPolicy{Deny: []string{server.URL + "/denied"}}, signature.Sigstore{}); err != nil {
		t.Fatal(err)
	}
	_, err = in.Stage(t.Context(), install.Target{Path: filepath.Join(t.TempDir(), pins.Name)}, server.URL+"/a.zip", nil)
	if !errors.Is(err, signature.ErrDenied) || requests.Load() > 0 {
		t.Errorf("%v after %d requests", err, requests.Load())
	}
}
