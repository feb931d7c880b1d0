package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite"
	"github.com/tenonhq/tenon/sdk"
)

func TestRemedyOfEveryError(t *testing.T) {
	t.Parallel()
	turn := func(name string, data sdk.ErrorData) error {
		return &host.TurnError{Named: &sdk.NamedError{Name: name, Data: data}, Err: errors.New("cause")}
	}
	refusal := func(by string) error {
		return &host.TurnError{Named: &sdk.NamedError{Name: sdk.ErrorUnknown}, Err: &sdk.Refusal{By: by, Reason: "no", Halt: true}}
	}
	for name, c := range map[string]struct {
		err  error
		code int
	}{
		"owned":            {&store.OwnedError{Session: "ses_1", PID: 7}, ExitStore},
		"full":             {fmt.Errorf("append: %w", store.ErrFull), ExitStore},
		"full in a turn":   {&host.TurnError{Named: &sdk.NamedError{Name: sdk.ErrorUnknown}, Err: store.ErrFull}, ExitStore},
		"read-only":        {store.ErrReadOnly, ExitStore},
		"damaged":          {store.ErrCorrupt, ExitStore},
		"newer":            {store.ErrNewer, ExitStore},
		"fenced":           {store.ErrFenced, ExitStore},
		"configuration":    {&config.Error{Kind: config.ErrConfig, Problems: []config.Problem{{File: "tenon.json", Line: 1, Column: 2, Key: "modle", Message: "unknown key"}}}, ExitConfig},
		"hook override":    {fmt.Errorf("reload: %w", hooks.ErrOverride), ExitConfig},
		"model":            {fmt.Errorf("%w: gone", host.ErrModel), ExitModel},
		"model in a turn":  {&host.TurnError{Named: &sdk.NamedError{Name: sdk.ErrorUnknown}, Err: host.ErrModel}, ExitModel},
		"key":              {turn(sdk.ErrorProviderAuth, sdk.ErrorData{ProviderID: "acme"}), ExitModel},
		"not found":        {fmt.Errorf("agent: %w", host.ErrNotFound), ExitUsage},
		"provider":         {turn(sdk.ErrorAPI, sdk.ErrorData{StatusCode: 500}), ExitTurn},
		"rate limit":       {turn(sdk.ErrorAPI, sdk.ErrorData{StatusCode: 429}), ExitTurn},
		"unknown name":     {turn(sdk.ErrorAPI, sdk.ErrorData{StatusCode: 404}), ExitTurn},
		"no server":        {turn(sdk.ErrorAPI, sdk.ErrorData{}), ExitTurn},
		"overflow":         {turn(sdk.ErrorContextOverflow, sdk.ErrorData{}), ExitTurn},
		"structured":       {turn(sdk.ErrorStructuredOutput, sdk.ErrorData{}), ExitTurn},
		"content filter":   {turn(sdk.ErrorContentFilter, sdk.ErrorData{}), ExitTurn},
		"aborted":          {turn(sdk.ErrorAborted, sdk.ErrorData{}), ExitInterrupted},
		"refused headless": {refusal("headless"), ExitRefused},
		"refused by user":  {refusal("user"), ExitRefused},
		"refused by hook":  {refusal("plugin strict"), ExitRefused},
		"refused by rule":  {refusal("rule"), ExitRefused},
		"anything":         {errors.New("something else"), ExitTurn},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			if code := ReportIn(&out, OnCommandLine(), c.err); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if len(lines) != 2 || !strings.HasPrefix(lines[0], "error: ") || !strings.HasPrefix(lines[1], "fix:   ") {
				t.Errorf("want one line of error and one of fix, have %q", out.String())
			}
		})
	}
}

func TestEveryExitCodeIsDescribed(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../help/commands.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range []int{exitOK, ExitTurn, ExitUsage, ExitConfig, ExitStore, ExitRefused, ExitModel, ExitInterrupted} {
		if n := strings.Count(string(text), fmt.Sprintf("\n  %3d  ", code)); n != 1 {
			t.Errorf("exit code %d is described %d times", code, n)
		}
	}
}

func TestLogHidesSecrets(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	m := &maskWriter{w: &out}
	m.hide(append([]string{`quo"ted secret`, "short"}, environSecrets(environ{"OPENAI_API_KEY=sk-12345678", "PATH=/usr/bin:/bin", "X_TOKEN=abc"})...))
	m.hide([]string{"more than sk-12345678"})
	m.hide(nil) // which forgets none
	log := newLogger(m, slog.LevelDebug)
	log.With("header", "Bearer sk-12345678").WithGroup("g").Info("asked", "err", errors.New(`bad key sk-12345678 or quo"ted secret`), "path", "/usr/bin:/bin", "n", "short abc")
	text := out.String()
	for _, secret := range []string{"sk-12345678", "ted secret"} {
		if strings.Contains(text, secret) {
			t.Errorf("the log shows %q: %s", secret, text)
		}
	}
	for _, harmless := range []string{"/usr/bin:/bin", "short abc", "asked"} {
		if !strings.Contains(text, harmless) {
			t.Errorf("the log lost %q: %s", harmless, text)
		}
	}
	out.Reset()
	if newLogger(m, slog.LevelError).Warn("quiet"); out.Len() > 0 {
		t.Errorf("a warning was shown at level error: %s", out.String())
	}
}

func TestFindWorktree(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("repo/.git/HEAD", "ref: refs/heads/main\n")
	write("repo/a/b/file", "")
	write("repo/linked/.git", "gitdir: ../.git/worktrees/linked\n")
	write("repo/linked/c/file", "")
	write("repo/odd/.git", "no git at all")
	write("plain/.git/keep", "")
	for dir, want := range map[string]string{
		"repo": "repo", "repo/a/b": "repo", "repo/linked/c": "repo/linked", "repo/odd": "repo", "plain": "",
	} {
		have, ok := findWorktree(filepath.Join(root, filepath.FromSlash(dir)))
		if rel, err := filepath.Rel(root, have); ok && err == nil && filepath.IsLocal(rel) {
			have = filepath.ToSlash(rel)
		} else {
			have = "" // a repository above the test's directory does not count
		}
		if have != want {
			t.Errorf("findWorktree(%q) = %q, want %q", dir, have, want)
		}
	}
}

// A repository of another user, which anybody can create above the directories of others, counts only if git accepts it.
func TestRepositoryOfAnotherUser(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.Lchown(filepath.Join(dir, ".git"), os.Getuid()+1, -1); err != nil {
		t.Skip("only root can give a directory to another user")
	}
	settings := filepath.Join(t.TempDir(), "settings")
	t.Setenv("GIT_CONFIG_GLOBAL", settings)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	for text, want := range map[string]bool{"": false, "[safe]\n\tdirectory = " + dir + "\n": true} {
		if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := acceptable(t.Context(), dir); got != want {
			t.Errorf("settings %q: acceptable() = %v, want %v", text, got, want)
		}
	}
}

func TestProjectIsRememberedAndGitNotAskedAgain(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	id := strings.Repeat("ab", 20)
	asked := lookUpProject(t.Context(), "/nowhere", data)
	if have, _ := asked.wait(); have != GlobalProject {
		t.Fatalf("identifier %q outside of a repository, want %q", have, GlobalProject)
	}
	if _, err := os.Stat(filepath.Join(data, "projects")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was remembered of it: %v", err)
	}
	asked.keep(id)
	if have, fresh := lookUpProject(t.Context(), "/nowhere", data).wait(); have != id || fresh {
		t.Errorf("identifier %q, want the remembered %q", have, id)
	}
}

// TestLongHistory: a history that git cannot walk in time has an ID that is cached, so that only the first start waits.
func TestLongHistory(t *testing.T) {
	t.Parallel()
	id := rootCommit(t.Context(), "/nowhere", "1", 0)
	if !isCommit(id) || id != rootCommit(t.Context(), "/nowhere", "1", 0) {
		t.Errorf("identifier %q, want one that can be cached, and the same again", id)
	}
	if id == rootCommit(t.Context(), "/elsewhere", "1", 0) || id == rootCommit(t.Context(), "/nowhere", "2", 0) {
		t.Error("another repository has the same identifier, and so the approvals of the first")
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if id := rootCommit(stopped, "/nowhere", "1", gitTimeout); id != "" {
		t.Errorf("identifier %q when the user stops the start, want none", id)
	}
}

// TestReplacedRepository: "always" approvals from before the first commit become those of the repository, once. Neither another repository at its
// path nor an update of tenon brings them back.
func TestReplacedRepository(t *testing.T) {
	t.Parallel()
	for name, made := range map[string]string{"with templates": ".git/description", "without": ".git/config"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, dir := workspaceAt(t.TempDir()), t.TempDir()
			git := func(age int, commands ...string) {
				t.Helper()
				for _, command := range commands {
					args := append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"}, strings.Fields(command)...)
					if out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput(); err != nil {
						t.Fatalf("git %s: %v: %s", command, err, out)
					}
				}
				if made != ".git/description" {
					_ = os.Remove(filepath.Join(dir, ".git/description"))
				}
				if err := os.Chtimes(filepath.Join(dir, made), time.Time{}, time.Unix(int64(age), 0)); err != nil {
					t.Fatal(err)
				}
			}
			// opened opens the store in the repository, changes it, and reports the patterns of the project and of the directory.
			opened := func(change func(s *sqlite.Store) error, want string) {
				t.Helper()
				w.Project.ID, w.Project.Directory, w.Project.Worktree, w.Project.Git = GlobalProject, dir, dir, true
				before := permission.ApprovalProject(w.Project)
				w.id = lookUpProject(t.Context(), dir, w.Project.DataDir)
				s, err := w.OpenStore(t.Context(), sqlite.Options{})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				var have []string
				for _, project := range []string{before, w.ApprovalProject()} {
					list, err := s.Approvals(t.Context(), project)
					if err != nil {
						t.Fatal(err)
					}
					for _, a := range list {
						have = append(have, strings.Fields(project)[0]+" "+a.Pattern)
					}
				}
				if id := w.Project.ID; strings.ReplaceAll(strings.Join(have, ", "), id, "project") != want {
					t.Errorf("approvals %q of %s, want %q", have, id, want)
				}
				if change != nil {
					if err := change(s); err != nil {
						t.Fatal(err)
					}
				}
			}
			inDirectory := func(s *sqlite.Store) error {
				return s.Approve(t.Context(), []store.Approval{{Project: "directory " + dir, Permission: "bash", Pattern: "npm"}})
			}

			git(1, "init -q")
			opened(inDirectory, "")
			git(1, "commit -q --allow-empty -m one")
			opened(func(s *sqlite.Store) error {
				_, err := s.Forget(t.Context(), w.ApprovalProject(), 0)
				return err
			}, "project npm")
			git(2)
			opened(func(s *sqlite.Store) error { // in another clone; then as older versions left both
				w.id.made = ""
				w.id.keep(w.Project.ID)
				return errors.Join(inDirectory(s), s.Approve(t.Context(), []store.Approval{{Project: w.ApprovalProject(), Permission: "bash", Pattern: "go"}}))
			}, "")
			opened(inDirectory, "project go")
			if err := os.RemoveAll(filepath.Join(dir, ".git")); err != nil {
				t.Fatal(err)
			}
			git(3, "init -q", "commit -q --allow-empty -m two")
			opened(nil, "")
		})
	}
}

func TestFindDirs(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	for name, c := range map[string]struct {
		env  environ
		flag string
		want string
	}{
		"flag":     {environ{"TENON_DATA_DIR=" + base + "/env"}, base + "/flag", base + "/flag"},
		"variable": {environ{"TENON_DATA_DIR=" + base + "/env", "XDG_DATA_HOME=" + base + "/xdg"}, "", base + "/env"},
		"xdg":      {environ{"XDG_DATA_HOME=" + base + "/xdg"}, "", base + "/xdg/tenon"},
		"one":      {environ{"XDG_DATA_HOME=" + base + "/xdg", "XDG_CACHE_HOME=" + base + "/xdg"}, "", base + "/xdg/tenon"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := FindDirs(c.env, c.flag)
			if err != nil {
				t.Fatal(err)
			}
			if d.DataDir != filepath.FromSlash(c.want) {
				t.Errorf("data directory %q, want %q", d.DataDir, c.want)
			}
			if d.CacheDir == d.DataDir {
				t.Error("the cache, which can be deleted, is the data directory")
			}
		})
	}
	if d, err := FindDirs(environ{"XDG_DATA_HOME=relative", "XDG_CONFIG_HOME=relative"}, ""); err == nil && (!filepath.IsAbs(d.DataDir) || strings.Contains(d.DataDir, "relative") || strings.Contains(d.ConfigDir, "relative")) {
		t.Errorf("relative XDG directories were used: %+v", d)
	}
}

// Files of the working directory are not the user's own, whatever is unset or relative.
func TestFindDirsWithoutHome(t *testing.T) {
	base := t.TempDir()
	for _, name := range []string{"AppData", "LocalAppData", "USERPROFILE", "home"} {
		t.Setenv(name, "")
	}
	t.Setenv("XDG_CONFIG_HOME", "relative")
	t.Setenv("XDG_CACHE_HOME", "relative")
	for _, home := range []string{"", base} {
		t.Setenv("HOME", home)
		d, err := FindDirs(environ{"XDG_CONFIG_HOME=relative", "XDG_CACHE_HOME=relative", "XDG_DATA_HOME=" + base}, "")
		if err != nil || !filepath.IsAbs(d.ConfigDir) || !filepath.IsAbs(d.CacheDir) {
			t.Errorf("HOME=%q: %+v, %v", home, d, err)
		}
		config, cache := filepath.Join(base, ".config", "tenon"), filepath.Join(base, ".cache", "tenon")
		if runtime.GOOS == "linux" && home != "" && (d.ConfigDir != config || d.CacheDir != cache) {
			t.Errorf("directories %q and %q, want %q and %q", d.ConfigDir, d.CacheDir, config, cache)
		}
	}
}
