package source

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/internal/filelock"
	"github.com/tenonhq/tenon/internal/pause"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/plugins/archive"
	"github.com/tenonhq/tenon/plugins/manifest"
)

// maxTransfer limits a download, and the data that one fetch of a commit stores, in bytes: the compressed files of one tree, which has at
// most 512 MiB.
const maxTransfer = 512 << 20

// ErrTooLarge is returned for a download or a commit that exceeds the limit.
var ErrTooLarge = errors.New("the transfer is too large")

// git fetches a commit into a bare repository of the cache and reads its tree.
func (f *Fetcher) git(ctx context.Context, r Ref, out *Fetched, dir string) error {
	repo, commit, err := f.commit(ctx, r, cmp.Or(out.Commit, r.Commit))
	if err != nil {
		return err
	}
	out.Commit, out.Version = commit, r.Version
	if r.Subdir != "" {
		entry, err := f.runGit(ctx, repo, "ls-tree", "-d", commit, "--", r.Subdir)
		if strings.HasPrefix(string(entry), "160000 commit ") {
			return fmt.Errorf("%w: %s is a submodule; install it from its own repository", ErrNotFound, r.Subdir)
		}
		if err != nil || !strings.HasPrefix(string(entry), "040000 tree ") {
			return cmp.Or(err, fmt.Errorf("%w: commit %s has no directory %s", ErrNotFound, commit[:12], r.Subdir))
		}
	}
	g := archive.Git{Tree: commit + ":" + r.Subdir, Command: func(ctx context.Context, args ...string) *exec.Cmd { return f.gitCommand(ctx, repo, args...) }}
	return out.unpacked(g.Extract(ctx, dir))
}

// commit returns the cached repository and the commit in it: the given one, else the commit of the reference's branch or tag.
func (f *Fetcher) commit(ctx context.Context, r Ref, commit string) (repo, found string, err error) {
	repo, _, err = f.cached("git", shortSum(r.URL))
	if err == nil && (commit == "" || !f.hasCommit(ctx, repo, commit)) {
		commit, err = f.fetchCommit(ctx, repo, r, commit)
	}
	return repo, commit, err
}

// hasCommit reports whether a repository of the cache has a commit with all its files. An interrupted fetch of an older tenon may have stored
// only some of them; the next fetch completes it.
func (f *Fetcher) hasCommit(ctx context.Context, repo, commit string) bool {
	_, err := f.runGit(ctx, repo, "rev-list", "--objects", "--quiet", commit+"^{commit}^{tree}")
	return err == nil
}

// fetchCommit fetches a commit, or what a branch or tag names, and returns the commit.
func (f *Fetcher) fetchCommit(ctx context.Context, repo string, r Ref, commit string) (string, error) {
	if f.Offline {
		return "", fmt.Errorf("%w: %s", ErrOffline, r)
	}
	if err := f.mayAsk(ctx, r.URL); err != nil {
		return "", err
	}
	wanted := cmp.Or(commit, r.Version, "HEAD")
	ref := "refs/tenon/" + rand.Text() // another process may fetch into the same repository
	defer func() { _, _ = f.runGit(context.WithoutCancel(ctx), repo, "update-ref", "-d", ref) }()
	err := f.transferCommit(ctx, repo, r, wanted, ref)
	if errors.Is(err, ErrTooLarge) {
		return "", errors.Join(err, os.RemoveAll(repo)) // otherwise the next fetch would treat it as complete
	}
	if err != nil && commit != "" && ctx.Err() == nil && r.Version != "" {
		// Some servers do not serve a commit by its ID. Fetch the branch or tag instead, and check that it is that commit.
		err = f.transferCommit(ctx, repo, r, r.Version, ref)
	}
	if err != nil {
		return "", err
	}
	head, err := f.runGit(ctx, repo, "rev-parse", "--verify", "--quiet", ref+"^{commit}")
	if err != nil {
		return "", err
	}
	have := strings.TrimSpace(string(head))
	if !isCommit(have) || commit != "" && have != commit {
		return "", fmt.Errorf("%w: %s is at commit %s, but %s is pinned", ErrMismatch, r.URL, have, commit)
	}
	return have, nil
}

// makeRepository makes a repository of the cache. It uses no template, because that would add hooks.
func (f *Fetcher) makeRepository(ctx context.Context, repo string, options ...string) error {
	if err := errors.Join(os.RemoveAll(repo), os.Mkdir(repo, 0o700)); err != nil {
		return err
	}
	_, err := f.runGit(ctx, repo, append([]string{"init", "--quiet", "--bare", "--template="}, options...)...)
	return err
}

// transferCommit fetches a commit, branch or tag into a reference of the cached repository, which it makes if it is missing, while no other
// process fetches into it.
func (f *Fetcher) transferCommit(ctx context.Context, repo string, r Ref, what, ref string) error {
	err := filelock.Do(ctx, repo+".lock", lockTimeout, func() error {
		if _, err := os.Lstat(filepath.Join(repo, "objects", "pack")); errors.Is(err, fs.ErrNotExist) { // git init, which may have been killed, makes it last
			if err := f.makeRepository(ctx, repo); err != nil {
				return err
			}
		}
		removeLeftovers(repo)
		fetch := []string{"fetch", "--quiet", "--force", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-auto-gc", "--", r.URL, what + ":" + ref}
		err := f.watched(ctx, repo, r, fetch...)
		for _, format := range []string{"sha1", "sha256"} {
			if err == nil || !strings.Contains(err.Error(), "server "+format) {
				continue
			}
			// These are git's words for objects in a format other than the repository's, which it cannot add.
			if err = f.makeRepository(ctx, repo, "--object-format="+format); err == nil {
				err = f.watched(ctx, repo, r, fetch...)
			}
		}
		return err
	})
	if err != nil && f.staysPut() && strings.Contains(err.Error(), "returned error: 30") { // git's words for a redirect that it does not follow
		return fmt.Errorf("%w; the server redirects, which is not followed for references of a project or marketplace, or with plugin_policy: write the final address", err)
	}
	return err
}

// removeLeftovers removes the files of a git that was killed: with its locks, every later fetch would fail.
func removeLeftovers(repo string) {
	for _, pattern := range []string{"*.lock", "objects/pack/tmp_*"} {
		names, _ := fs.Glob(os.DirFS(repo), pattern) // the patterns are valid
		for _, name := range names {
			_ = os.Remove(filepath.Join(repo, filepath.FromSlash(name))) // git reports what remains
		}
	}
}

// watchEvery is the interval at which the size of a transfer is checked.
const watchEvery = 200 * time.Millisecond

// watched runs git for a transfer into a repository. It reports the progress, and cancels the transfer with ErrTooLarge once it has stored more
// than maxTransfer bytes, because git has no such limit.
func (f *Fetcher) watched(ctx context.Context, repo string, r Ref, args ...string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	limit, before := cmp.Or(f.MaxTransfer, maxTransfer), size(repo)
	check := func() error {
		have := size(repo) - before
		f.progress(r.Host(), have, 0)
		if have > limit {
			return fmt.Errorf("%w: more than %d MiB; name a smaller repository", ErrTooLarge, limit>>20)
		}
		return nil
	}
	var watcher sync.WaitGroup
	watcher.Go(func() { // ends with the transfer
		for pause.For(ctx, watchEvery) == nil {
			if err := check(); err != nil {
				cancel(err)
			}
		}
	})
	_, err := f.runGit(ctx, repo, args...)
	cancel(nil)
	watcher.Wait()
	return cmp.Or(check(), err)
}

// size returns the total size of the files below a directory, except those that git removes or renames at the same time.
func size(dir string) (total int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				total += info.Size()
			}
		}
		return nil
	})
	return total
}

// mayAsk refuses addresses that a repository must not name. Git resolves the name again; it follows no redirect then.
func (f *Fetcher) mayAsk(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return err
	case f.Guarded && (u.Scheme == "file" || u.Scheme == "http"):
		return fmt.Errorf("%w: a repository must not name %s", ErrAddress, address)
	}
	return f.mayName(ctx, u)
}

// mayName refuses hosts that a repository must not name where another program connects: the user's proxy, or git. If this machine cannot
// resolve a name, the proxy decides about it: there may be no other way to the network. Without a proxy, such a name is refused: git's ssh may
// have an alias for it.
func (f *Fetcher) mayName(ctx context.Context, u *url.URL) error {
	if !f.Guarded {
		return nil
	}
	if err := manifest.CheckSpelling(u); err != nil {
		return fmt.Errorf("%w: %s %w", ErrAddress, u.Redacted(), err)
	}
	host, proxied := u.Hostname(), proxied(u)
	if strings.HasSuffix("."+strings.ToLower(strings.TrimSuffix(host, ".")), ".localhost") { // libcurl does not look it up
		return fmt.Errorf("%w: %s leads to this machine", ErrAddress, host)
	}
	if proxied {
		if _, known := f.unresolved.Load(host); known {
			return nil
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, lookupTimeout)
		defer cancel()
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if at := slices.IndexFunc(addrs, refused); at >= 0 {
		return fmt.Errorf("%w: %s leads to %s", ErrAddress, host, addrs[at])
	}
	if err == nil || !proxied {
		return err
	}
	f.unresolved.Store(host, true)
	return nil
}

// proxied reports whether requests for an address go to the user's proxy.
func proxied(u *url.URL) bool {
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u})
	return err == nil && proxy != nil
}

// staysPut reports whether git must not follow redirects, because no code would judge their addresses.
func (f *Fetcher) staysPut() bool { return f.Guarded || f.Judge != nil }

// gitCommand returns the user's git, which has the user's credentials, and runs nothing of the repository.
func (f *Fetcher) gitCommand(ctx context.Context, repo string, args ...string) *exec.Cmd {
	// A fetched commit stays a pack, which appears completely or not at all. If git unpacked it, an interrupted transfer could leave a
	// commit without its files that looks complete.
	settings := []string{"-c", "fetch.unpackLimit=1", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "protocol.ext.allow=never", "-c", "gc.auto=0", "-c", "submodule.recurse=false",
		"-c", "http.lowSpeedLimit=1000", "-c", "http.lowSpeedTime=30"}
	if f.staysPut() {
		settings = append(settings, "-c", "http.followRedirects=false")
	}
	if f.Guarded {
		settings = append(settings, "-c", "protocol.file.allow=never")
	}
	cmd := f.command(ctx, "git", append(settings, args...)...)
	cmd.Dir, cmd.Env = repo, child.GitEnviron(f.Environ, "GIT_DIR="+repo, "PATH="+projectfs.Path(os.Getenv("PATH"), f.Project))
	return cmd
}

// runGit runs git and returns its output.
func (f *Fetcher) runGit(ctx context.Context, repo string, args ...string) ([]byte, error) {
	return Output(ctx, f.gitCommand(ctx, repo, args...), "git "+args[0], nil)
}
