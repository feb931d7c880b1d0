package source_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tenonhq/tenon/plugins/source"
)

// cut passes on only the first bytes of an answer.
type cut struct {
	http.ResponseWriter
	left int
}

func (c *cut) Write(p []byte) (int, error) {
	if c.left -= len(p); c.left < 0 {
		_ = http.NewResponseController(c.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	return c.ResponseWriter.Write(p)
}

// TestGitCut breaks the connection in the middle of a commit's files: the next fetch of the commit has them all, even if git was killed then.
func TestGitCut(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	repo := filepath.Join(top, "r")
	mkdir(t, repo)
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		cmd.Dir, cmd.Env = repo, append(os.Environ(), "HOME="+top, "GIT_CONFIG_NOSYSTEM=1")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %v: %v", args, err)
		}
		return strings.TrimSpace(string(out))
	}
	random := rand.NewChaCha8([32]byte{})
	for _, name := range []string{"a", "b", "c", "d"} {
		data := make([]byte, 100<<10)
		_, _ = random.Read(data)
		if err := os.WriteFile(filepath.Join(repo, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q")
	git("config", "uploadpack.allowAnySHA1InWant", "true")
	git("add", ".")
	git("commit", "-qm", "one")
	pin := &source.Pin{Commit: git("rev-parse", "HEAD")}
	backend := &cgi.Handler{
		Path: filepath.Join(git("--exec-path"), "git-http-backend"), Env: []string{"GIT_PROJECT_ROOT=" + top, "GIT_HTTP_EXPORT_ALL=1", "HOME=" + top}, Stderr: io.Discard,
	}
	var whole atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !whole.Load() {
			w = &cut{w, 250 << 10}
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	f := fetcher(t)
	if _, _, err := fetch(t, f, "git+"+server.URL+"/r/.git", pin); err == nil {
		t.Error("no error although the connection broke")
	}
	leaveLock(t, f.Cache)
	whole.Store(true)
	if _, files, err := fetch(t, f, "git+"+server.URL+"/r/.git", pin); err != nil || len(files) != 4 {
		t.Errorf("after the connection broke: %d files, %v", len(files), err)
	}
	loseFile(t, f.Cache)
	if _, files, err := fetch(t, f, "git+"+server.URL+"/r/.git", pin); err != nil || len(files) != 4 {
		t.Errorf("with a cache that an older version left incomplete: %d files, %v", len(files), err)
	}
	if _, _, err := fetch(t, f, "git+"+server.URL+"/r/.git", &source.Pin{Commit: git("rev-parse", "HEAD^{tree}")}); err == nil {
		t.Error("a tree of the cache passes for a commit")
	}
}

// leaveLock leaves the files of a git that was killed during a fetch into the only repository of a cache.
func leaveLock(t *testing.T, cache string) {
	t.Helper()
	heads, err := filepath.Glob(filepath.Join(cache, "git", "*", "HEAD"))
	if err != nil || len(heads) != 1 {
		t.Fatalf("repositories of the cache: %v, %v", heads, err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(heads[0]), "shallow.lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// loseFile leaves a commit without one of its files in the only repository of a cache, as a fetch that broke off did.
func loseFile(t *testing.T, cache string) {
	t.Helper()
	packs, err := filepath.Glob(filepath.Join(cache, "git", "*", "objects", "pack", "*.pack"))
	if err != nil || len(packs) != 1 {
		t.Fatalf("packs of the cache: %v, %v", packs, err)
	}
	objects := filepath.Dir(filepath.Dir(packs[0]))
	pack, err := os.ReadFile(packs[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Dir(packs[0])); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "git", "unpack-objects", "-q")
	cmd.Dir, cmd.Stdin = filepath.Dir(objects), bytes.NewReader(pack)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git unpack-objects: %v: %s", err, out)
	}
	loose, err := filepath.Glob(filepath.Join(objects, "??", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range loose {
		if info, err := os.Stat(path); err == nil && info.Size() > 50<<10 {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("no file among %d objects", len(loose))
}

// TestGitFormat: the objects of a repository can have another format than those of the one that had its address before. A cached repository
// that is not complete is made again.
func TestGitFormat(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	repo := filepath.Join(top, "r")
	f := fetcher(t)
	commit := func(format string, content []byte) {
		if err := errors.Join(os.RemoveAll(repo), os.Mkdir(repo, 0o755), os.WriteFile(filepath.Join(repo, "file"), content, 0o644)); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"init", "-q", "--object-format=" + format}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"}} {
			cmd := exec.CommandContext(t.Context(), "git", args...)
			cmd.Dir, cmd.Env = repo, append(os.Environ(), "HOME="+top, "GIT_CONFIG_NOSYSTEM=1")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("git %v: %v: %s", args, err, out)
			}
		}
	}
	for i, format := range []string{"sha1", "sha256", "sha1"} {
		commit(format, []byte{byte('0' + i)})
		for range 2 {
			if out, files, err := fetch(t, f, "git+file://"+repo, nil); err != nil || files["file"] != string(byte('0'+i)) {
				t.Errorf("%d, %s: %+v, %v, %v", i, format, out, files, err)
			}
			halves, err := filepath.Glob(filepath.Join(f.Cache, "git", "*", "objects")) // as if git init had been killed
			if err != nil || len(halves) != 1 || os.RemoveAll(halves[0]) != nil {
				t.Fatalf("repositories %q, %v", halves, err)
			}
		}
	}
	// The size of what was removed does not count.
	f.MaxTransfer = 400 << 10
	for _, c := range []struct {
		format string
		size   int
		want   error
	}{{"sha256", 300 << 10, nil}, {"sha1", 500 << 10, source.ErrTooLarge}} {
		content := make([]byte, c.size)
		_, _ = rand.NewChaCha8([32]byte{}).Read(content) // never fails; the content does not compress
		commit(c.format, content)
		if _, _, err := fetch(t, f, "git+file://"+repo, nil); !errors.Is(err, c.want) {
			t.Errorf("%d bytes: %v, want %v", c.size, err, c.want)
		}
	}
}
