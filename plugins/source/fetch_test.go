package source_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenonhq/tenon/plugins/archive"
	"github.com/tenonhq/tenon/plugins/source"
	"github.com/tenonhq/tenon/plugins/source/sourcetest"
)

func targz(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for name, body := range files {
		err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(body)), Typeflag: tar.TypeReg})
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

func hexSum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func fetcher(t testing.TB) *source.Fetcher {
	t.Helper()
	return &source.Fetcher{Cache: t.TempDir(), Environ: append(os.Environ(), "HOME="+t.TempDir())}
}

func mkdir(t testing.TB, dir string) {
	t.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}

func move(t testing.TB, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func fetch(t testing.TB, f *source.Fetcher, ref string, pin *source.Pin) (*source.Fetched, map[string]string, error) {
	t.Helper()
	r, err := source.Parse(ref, "/", "/")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "plugin")
	mkdir(t, dir)
	out, err := f.Fetch(t.Context(), r, pin, dir)
	files := map[string]string{}
	walkErr := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if walkErr != nil {
		t.Fatal(walkErr)
	}
	return out, files, err
}

// dropper serves data and breaks the connection after each part of it.
type dropper struct {
	data     []byte
	part     int
	tag      func() string
	requests atomic.Int32
}

func (d *dropper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.requests.Add(1)
	at := 0
	w.Header().Set("ETag", d.tag())
	if text, ok := strings.CutPrefix(r.Header.Get("Range"), "bytes="); ok && r.Header.Get("If-Range") == d.tag() {
		at, _ = strconv.Atoi(strings.TrimSuffix(text, "-"))
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", at, len(d.data)-1, len(d.data)))
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(d.data)-at))
	if at > 0 {
		w.WriteHeader(http.StatusPartialContent)
	}
	end := min(len(d.data), at+d.part)
	_, _ = w.Write(d.data[at:end])
	if end < len(d.data) {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

func TestArchive(t *testing.T) {
	t.Parallel()
	data := targz(t, map[string]string{"p/plugin.json": "{}", "p/big": strings.Repeat("x", 1<<20)})
	fixed := func() string { return `"one"` }
	t.Run("resumes", func(t *testing.T) {
		t.Parallel()
		d := &dropper{data: data, part: len(data)/2 + 1, tag: fixed}
		server := httptest.NewServer(d)
		t.Cleanup(server.Close)
		f := fetcher(t)
		out, files, err := fetch(t, f, server.URL+"/a.tar.gz", nil)
		if err != nil || files["plugin.json"] != "{}" || out.SHA256 != hexSum(data) || d.requests.Load() != 2 {
			t.Fatalf("Fetch() = %+v, %v after %d requests", out, err, d.requests.Load())
		}
		f.Offline = true
		if _, files, err := fetch(t, f, server.URL+"/a.tar.gz", &out.Pin); err != nil || len(files) != 2 {
			t.Errorf("from the cache: %v, %v", files, err)
		}
		if _, _, err := fetch(t, f, server.URL+"/other.tar.gz", nil); !errors.Is(err, source.ErrOffline) {
			t.Errorf("offline: %v", err)
		}
	})
	t.Run("resumes in a later run", func(t *testing.T) {
		t.Parallel()
		d := &dropper{data: data, part: len(data)/6 + 1, tag: fixed}
		server := httptest.NewServer(d)
		t.Cleanup(server.Close)
		f := fetcher(t)
		if _, _, err := fetch(t, f, server.URL+"/a.tar.gz", nil); err == nil {
			t.Fatal("three parts of six are not enough")
		}
		if _, _, err := fetch(t, f, server.URL+"/a.tar.gz", nil); err != nil || d.requests.Load() != 6 {
			t.Errorf("the second run: %v after %d requests in all", err, d.requests.Load())
		}
	})
	t.Run("leaves nothing of a file that is too large", func(t *testing.T) {
		t.Parallel()
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(w).Flush() // no length
			_, _ = w.Write(data)
		}))
		t.Cleanup(server.Close)
		f := fetcher(t)
		f.MaxTransfer = int64(len(data)) - 1
		if _, _, err := fetch(t, f, server.URL+"/a.tar.gz", nil); !errors.Is(err, source.ErrTooLarge) {
			t.Errorf("Fetch() = %v, want ErrTooLarge", err)
		}
		if parts, err := filepath.Glob(filepath.Join(f.Cache, "*", "part-*[^k]")); err != nil || len(parts) > 0 { // other than locks
			t.Errorf("files of the transfer: %v, %v", parts, err)
		}
	})
	t.Run("is not led from https to http", func(t *testing.T) {
		t.Parallel()
		plain := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
		t.Cleanup(plain.Close)
		server := httptest.NewTLSServer(http.RedirectHandler(plain.URL+"/a.tar.gz", http.StatusFound))
		t.Cleanup(server.Close)
		f := fetcher(t)
		f.Transport = server.Client().Transport
		if _, _, err := fetch(t, f, server.URL+"/a.tar.gz", nil); err == nil || !strings.Contains(err.Error(), "redirect from https to http is not followed") {
			t.Errorf("Fetch() = %v", err)
		}
	})
	t.Run("starts again when the file changed", func(t *testing.T) {
		t.Parallel()
		n := 0
		d := &dropper{data: data, part: len(data)/2 + 1, tag: func() string { n++; return fmt.Sprintf("%q", strconv.Itoa(n/4)) }}
		server := httptest.NewServer(d)
		t.Cleanup(server.Close)
		_, files, err := fetch(t, fetcher(t), server.URL+"/a.tar.gz", nil)
		if err == nil && files["plugin.json"] != "{}" {
			t.Errorf("mixed content: %v", files)
		}
	})
	t.Run("ends before another version is stored", func(t *testing.T) {
		t.Parallel()
		tag := `"one"`
		d := &dropper{data: bytes.Repeat([]byte("old"), len(data)), part: len(data) / 6, tag: func() string { return tag }}
		server := httptest.NewServer(d)
		t.Cleanup(server.Close)
		f := fetcher(t)
		if _, _, err := fetch(t, f, server.URL+"/a.tar.gz", nil); err == nil {
			t.Fatal("three parts are not enough")
		}
		parts, err := filepath.Glob(filepath.Join(f.Cache, "*", "part-*.tag"))
		if err != nil || len(parts) != 1 {
			t.Fatalf("files of the transfer: %v, %v", parts, err)
		}
		part := strings.TrimSuffix(parts[0], ".tag")
		move(t, part, part+".old")
		mkdir(t, part) // it cannot be written, as if the process ended there
		d.data, d.part, tag = data, len(data), `"two"`
		if _, _, err := fetch(t, f, server.URL+"/a.tar.gz", nil); err == nil {
			t.Fatal("stored in a directory")
		}
		move(t, part, part+".directory")
		move(t, part+".old", part)
		if out, _, err := fetch(t, f, server.URL+"/a.tar.gz", nil); err != nil || out.SHA256 != hexSum(data) {
			t.Errorf("the other version: %v", err)
		}
	})
	t.Run("wrong bytes", func(t *testing.T) {
		t.Parallel()
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(data) }))
		t.Cleanup(server.Close)
		for _, ref := range []string{server.URL + "/a.tar.gz#sha256=" + strings.Repeat("0", 64)} {
			if _, files, err := fetch(t, fetcher(t), ref, nil); !errors.Is(err, source.ErrMismatch) || len(files) > 0 {
				t.Errorf("%s: %v, %v", ref, files, err)
			}
		}
		if _, _, err := fetch(t, fetcher(t), server.URL+"/a.tar.gz", &source.Pin{SHA256: strings.Repeat("0", 64)}); !errors.Is(err, source.ErrMismatch) {
			t.Errorf("another pin: %v", err)
		}
		if _, _, err := fetch(t, fetcher(t), server.URL+"/a.zip", nil); !errors.Is(err, archive.ErrUnsafe) {
			t.Errorf("another format: %v", err)
		}
	})
	t.Run("a damaged cache", func(t *testing.T) {
		t.Parallel()
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(data) }))
		t.Cleanup(server.Close)
		f := fetcher(t)
		out, _, err := fetch(t, f, server.URL+"/a.tar.gz", nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(f.Cache, "files", out.SHA256), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, files, err := fetch(t, f, server.URL+"/a.tar.gz", &out.Pin); err != nil || files["plugin.json"] != "{}" {
			t.Errorf("Fetch() = %v, %v", files, err)
		}
	})
	t.Run("a module", func(t *testing.T) {
		t.Parallel()
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("\x00asm")) }))
		t.Cleanup(server.Close)
		out, files, err := fetch(t, fetcher(t), server.URL+"/x/redact.wasm", nil)
		if err != nil || filepath.Base(out.Path) != "redact.wasm" || files["redact.wasm"] != "\x00asm" {
			t.Errorf("Fetch() = %+v, %v, %v", out, files, err)
		}
	})
	for name, handler := range map[string]http.HandlerFunc{
		"not found":        http.NotFound,
		"endless redirect": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) },
		"cut": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(len(data)))
			_, _ = w.Write(data[:10])
		},
		"too large": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", strconv.Itoa(1<<40)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(handler)
			t.Cleanup(server.Close)
			if _, files, err := fetch(t, fetcher(t), server.URL+"/a.tar.gz", nil); err == nil || len(files) > 0 {
				t.Errorf("Fetch() = %v, %v", files, err)
			}
		})
	}
	t.Run("canceled", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() }))
		t.Cleanup(server.Close)
		r, _ := source.Parse(server.URL+"/a.tar.gz", "/", "/")
		if _, err := fetcher(t).Fetch(ctx, r, nil, t.TempDir()); !errors.Is(err, context.Canceled) {
			t.Errorf("Fetch() = %v", err)
		}
	})
}

// TestGuarded: what a repository names is not fetched from this machine, not even behind a redirect, a name or a proxy.
func TestGuarded(t *testing.T) {
	t.Parallel()
	asked := atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(server.Close)
	_, port, _ := strings.Cut(strings.TrimPrefix(server.URL, "http://"), ":")
	f := fetcher(t)
	f.Guarded = true
	f.Registry, f.MCPRegistry = server.URL, server.URL
	for _, ref := range []string{
		server.URL + "/a.tar.gz", "http://localhost:" + port + "/a.zip", "http://[::1]:" + port + "/a.zip", "https://169.254.169.254/a.zip", "https://0.0.0.0:" + port + "/a.zip", "https://[fd00:ec2::254]/a.zip", "https://[fd20:ce::254]/a.zip", "https://168.63.129.16/a.zip",
		"git+http://127.0.0.1:" + port + "/r", "git+https://localhost:" + port + "/r", "git+https://x.localhost:" + port + "/r", "git+https://LocalHost.:" + port + "/r", "git+file:///tmp", "npm:x", "oci://127.0.0.1:" + port + "/o/p", "oci://localhost:" + port + "/o/p:v1", "mcp:io.x/a",
	} {
		if _, _, err := fetch(t, f, ref, nil); !errors.Is(err, source.ErrAddress) {
			t.Errorf("%s: %v, want ErrAddress", ref, err)
		}
	}
	if asked.Load() > 0 {
		t.Errorf("%d requests were sent", asked.Load())
	}
	// The user's ssh could have an alias for a name that is in no name server.
	_, _, err := fetch(t, f, "git+ssh://no-such-host.invalid/r", nil)
	if _, lookup := errors.AsType[*net.DNSError](err); !lookup || !source.OfServer(err) {
		t.Errorf("a host that cannot be looked up: %v", err)
	}
}

// TestLedToMetadata: a server does not lead to a metadata server, not even for references of the user. The user can name any address.
func TestLedToMetadata(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"169.254.169.254", "[fd00:ec2::254]", "[::ffff:169.254.169.254]"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://"+target+"/latest/", http.StatusFound)
		}))
		t.Cleanup(server.Close)
		host := strings.TrimPrefix(server.URL, "http://")
		for _, ref := range []string{server.URL + "/a.tar.gz", "oci://" + host + "/o/p:v1"} {
			if _, _, err := fetch(t, fetcher(t), ref, nil); !errors.Is(err, source.ErrAddress) {
				t.Errorf("%s to %s: %v, want ErrAddress", ref, target, err)
			}
		}
	}
}

// TestGuardedRedirect: git does not follow a redirect for a repository, and the error names the remedy.
func TestGuardedRedirect(t *testing.T) {
	t.Parallel()
	followed := atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		code, path, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		status, err := strconv.Atoi(code)
		if !ok || err != nil {
			followed.Add(1)
			return
		}
		http.Redirect(w, r, "/final-"+path, status)
	}))
	t.Cleanup(server.Close)
	f := fetcher(t)
	f.Guarded = true
	for _, code := range []string{"301", "302", "303", "307", "308"} {
		if err := f.TransferCommit(t.Context(), server.URL+"/"+code+"/r"); err == nil || !strings.Contains(err.Error(), "write the final address") {
			t.Errorf("%s: %v, want an error with the remedy", code, err)
		}
	}
	if followed.Load() > 0 {
		t.Errorf("%d redirects were followed", followed.Load())
	}
}

func TestNPM(t *testing.T) {
	t.Parallel()
	pack := func(files map[string]string) []byte { return targz(t, files) }
	good := pack(map[string]string{"package/package.json": `{"name":"@s/p","version":"1.2.0"}`, "package/plugin.json": "{}"})
	needy := pack(map[string]string{"package/package.json": `{"dependencies":{"left-pad":"1"}}`})
	bundled := pack(map[string]string{"package/package.json": `{"dependencies":{"l":"1"}}`, "package/node_modules/l/package.json": "{}"})
	integrity := func(data []byte) string {
		sum := sha512.Sum512(data)
		return "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
	}
	routes := map[string]http.HandlerFunc{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // a mux does not match %2f
		if handle, ok := routes[r.URL.Path]; ok {
			handle(w, r)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(server.Close)
	type version map[string]any
	dist := func(name string, data []byte, sum string) version {
		routes["/-/"+name] = func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer secret" {
				w.WriteHeader(http.StatusUnauthorized)
			}
			_, _ = w.Write(data)
		}
		return version{"dist": version{"tarball": server.URL + "/-/" + name, "integrity": sum}}
	}
	describe := func(name string, doc any) {
		routes["/"+name] = func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(doc) }
	}
	describe("@s/p", version{"dist-tags": version{"latest": "1.2.0", "next": "2.0.0"}, "versions": version{
		"1.0.0": dist("p-1.0.0.tgz", good, integrity(good)), "1.2.0": dist("p-1.2.0.tgz", good, integrity(good)),
		"1.3.0": dist("p-1.3.0.tgz", good, integrity(good)), "2.0.0": dist("p-2.0.0.tgz", good, integrity(good)), "3.0.0-beta.1": dist("p-3.tgz", good, integrity(good)),
	}})
	describe("needy", version{"dist-tags": version{"latest": "1.0.0"}, "versions": version{"1.0.0": dist("needy.tgz", needy, integrity(needy))}})
	describe("bundled", version{"dist-tags": version{"latest": "1.0.0"}, "versions": version{"1.0.0": dist("bundled.tgz", bundled, integrity(bundled))}})
	describe("wrong", version{"dist-tags": version{"latest": "1.0.0"}, "versions": version{"1.0.0": dist("wrong.tgz", good, integrity(needy))}})
	describe("weak", version{"dist-tags": version{"latest": "1.0.0"}, "versions": version{"1.0.0": dist("weak.tgz", good, "sha1-abc")}})
	describe("elsewhere", version{"dist-tags": version{"latest": "1.0.0"}, "versions": version{"1.0.0": version{"dist": version{"tarball": "file:///etc/passwd", "integrity": integrity(good)}}}})
	routes["/garbage"] = func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }
	f := fetcher(t)
	f.Registry, f.Token = server.URL, "secret"
	for ref, want := range map[string]string{
		"npm:@s/p": "1.2.0", "npm:@s/p@next": "2.0.0", "npm:@s/p@^1": "1.2.0", "npm:@s/p@~1.0.0": "1.0.0", "npm:@s/p@>=1.3": "2.0.0", "npm:@s/p@>=2.0.0-0": "2.0.0", "npm:@s/p@^3.0.0-0": "3.0.0-beta.1", "npm:@s/p@1.3.0": "1.3.0", "npm:bundled": "1.0.0",
	} {
		out, _, err := fetch(t, f, ref, nil)
		if err != nil || out.Version != want || out.Integrity == "" {
			t.Errorf("%s: %+v, %v, want version %s", ref, out, err, want)
		}
	}
	for ref, want := range map[string]error{
		"npm:needy": source.ErrDependencies, "npm:wrong": source.ErrMismatch, "npm:weak": source.ErrRegistry, "npm:elsewhere": source.ErrRegistry, "npm:garbage": source.ErrRegistry, "npm:@s/p@^9": nil, "npm:missing": nil,
	} {
		if out, files, err := fetch(t, f, ref, nil); err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%s: %+v, %v, %v", ref, out, files, err)
		}
	}
}

// TestGit fetches from git's own server program over HTTP.
func TestGit(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) { fetchesGit(t, format) })
	}
}

func fetchesGit(t *testing.T, format string) {
	t.Parallel()
	top := t.TempDir()
	work := filepath.Join(top, "work")
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"}, args...)...)
		cmd.Dir, cmd.Env = work, append(os.Environ(), "HOME="+top, "GIT_CONFIG_NOSYSTEM=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	write := func(name, body string) {
		t.Helper()
		path := filepath.Join(work, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(body), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	write("plugins/a/plugin.json", "1")
	git("init", "-q", "--object-format="+format)
	write(".git/hooks/post-checkout", "#!/bin/sh\ntouch "+filepath.Join(top, "pwned"))
	git("add", ".")
	git("commit", "-qm", "one")
	first := git("rev-parse", "HEAD")
	git("tag", "v1")
	write("plugins/a/plugin.json", "2")
	git("add", ".")
	git("update-index", "--add", "--cacheinfo", "160000,"+first+",plugins/sub")
	git("commit", "-qm", "two")
	second := git("rev-parse", "HEAD")
	git("clone", "-q", "--bare", ".", filepath.Join(top, "r.git"))
	server := httptest.NewServer(&cgi.Handler{
		Path: filepath.Join(git("--exec-path"), "git-http-backend"), Env: []string{"GIT_PROJECT_ROOT=" + top, "GIT_HTTP_EXPORT_ALL=1", "HOME=" + top},
		Stderr: io.Discard,
	})
	t.Cleanup(server.Close)
	for _, base := range []string{"git+" + server.URL + "/r.git", "git+file://" + filepath.Join(top, "r.git")} {
		f := fetcher(t)
		for ref, want := range map[string][2]string{
			base + "//plugins/a":             {second, "2"},
			base + "//plugins/a@v1":          {first, "1"},
			base + "//plugins/a@main":        {second, "2"},
			base + "//plugins/a@v1#" + first: {first, "1"},
		} {
			out, files, err := fetch(t, f, ref, nil)
			if err != nil || out.Commit != want[0] || files["plugin.json"] != want[1] {
				t.Errorf("%s: %+v, %v, %v", ref, out, files, err)
			}
		}
		for _, dir := range []string{"none", "plugins/a/plugin.json"} {
			if _, _, err := fetch(t, f, base+"//"+dir, nil); !errors.Is(err, source.ErrNotFound) || !strings.Contains(err.Error(), "has no directory "+dir) {
				t.Errorf("directory %s: %v", dir, err)
			}
		}
		if _, _, err := fetch(t, f, base+"//plugins/sub", nil); !errors.Is(err, source.ErrNotFound) || !strings.Contains(err.Error(), "plugins/sub is a submodule") {
			t.Errorf("a submodule: %v", err)
		}
		f.Offline = true
		if _, files, err := fetch(t, f, base+"//plugins/a@main", &source.Pin{Commit: first}); err != nil || files["plugin.json"] != "1" {
			t.Errorf("pinned and offline: %v, %v", files, err)
		}
		f.Offline = false
		for _, ref := range []string{base + "@nowhere", base + "//nowhere", base + "#" + commit, base + "@main#" + strings.Repeat("1", 40)} {
			if _, files, err := fetch(t, f, ref, nil); err == nil {
				t.Errorf("%s: %v", ref, files)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(top, "pwned")); err == nil {
		t.Error("a hook ran")
	}
	f := fetcher(t)
	f.MaxTransfer = 100
	for range 2 {
		if _, files, err := fetch(t, f, "git+"+server.URL+"/r.git//plugins/a", nil); !errors.Is(err, source.ErrTooLarge) || len(files) > 0 {
			t.Errorf("a transfer of more than 100 bytes: %v, %v", files, err)
		}
	}
	stuck := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(stuck.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	r, _ := source.Parse("git+"+stuck.URL+"/r", "/", "/")
	if _, err := fetcher(t).Fetch(ctx, r, nil, t.TempDir()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a server that hangs: %v", err)
	}
}

// TestOfServer: it separates answers of servers from errors of this machine.
func TestOfServer(t *testing.T) {
	t.Parallel()
	registry := sourcetest.NewNPM(t)
	registry.Add(t, map[string]string{"package.json": `{"name":"one","version":"1.0.0"}`})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/cut.zip") {
			w.Header().Set("Content-Length", "1")
			return
		}
		http.Error(w, "no", map[bool]int{true: http.StatusNotFound, false: http.StatusForbidden}[strings.Contains(r.URL.Path, "absent")])
	}))
	t.Cleanup(server.Close)
	oci := "oci://" + strings.TrimPrefix(server.URL, "http://")
	for ref, want := range map[string]bool{
		server.URL + "/absent.zip": true, server.URL + "/a.zip": true, server.URL + "/cut.zip": true, "npm:one@2": true, "npm:absent": true,
		oci + "/absent:1": true, oci + "/a:1": true, "git+" + server.URL + "/a": true, "/absent.zip": false,
	} {
		f := fetcher(t)
		f.Registry = registry.URL
		if _, _, err := fetch(t, f, ref, nil); err == nil || source.OfServer(err) != want {
			t.Errorf("%s: OfServer(%v) = %t", ref, err, !want)
		}
	}
}

// TestStalledTransfer: a server that sends nothing any more ends the transfer, and the error says so once.
func TestStalledTransfer(t *testing.T) {
	t.Parallel()
	f := fetcher(t)
	f.Transport = stalled{http.StatusOK}
	synctest.Test(t, func(t *testing.T) {
		if _, _, err := fetch(t, f, "https://example.com/a.tar.gz", nil); err == nil || strings.Count(err.Error(), "sent nothing") != 1 {
			t.Errorf("Fetch() = %.1000v", err)
		}
	})
}

// TestStalledError: an error whose page never ends is reported without it, and a long status is cut.
func TestStalledError(t *testing.T) {
	t.Parallel()
	f := fetcher(t)
	f.Transport = stalled{http.StatusInternalServerError}
	synctest.Test(t, func(t *testing.T) {
		if _, _, err := fetch(t, f, "https://example.com/a.tar.gz", nil); err == nil || !strings.HasSuffix(err.Error(), ": some") || len(err.Error()) > 1000 {
			t.Errorf("Fetch() = %.1000v", err)
		}
	})
}

// stalled is the way to a server that answers with a status, and sends only the beginning of the content.
type stalled struct{ status int }

func (s stalled) RoundTrip(r *http.Request) (*http.Response, error) {
	page, w := io.Pipe()
	go func() { _, _ = io.WriteString(w, "some") }()
	context.AfterFunc(r.Context(), func() { _ = page.CloseWithError(context.Cause(r.Context())) })
	return &http.Response{Status: "500 " + strings.Repeat("x", 1<<20), StatusCode: s.status, ContentLength: -1, Body: page, Request: r}, nil
}
