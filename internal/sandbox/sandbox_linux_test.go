package sandbox_test

import (
	"errors"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/internal/confine"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/internal/sandbox"
	"github.com/tenonhq/tenon/sdk"
)

// newHome returns a home directory with files.
func newHome(t *testing.T, files ...string) string {
	t.Helper()
	home := t.TempDir()
	for _, file := range files {
		path := filepath.Join(home, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

func has(list []sandbox.Path, access sandbox.Access, path string) bool {
	return slices.ContainsFunc(list, func(p sandbox.Path) bool { return p.Access == access && p.Path == path && p.Origin != "" })
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	home := newHome(t, "backup/.ssh/id", ".local/state/old/.netrc", "src/project/.npmrc", ".config/old/.netrc", ".config/gh/hosts", "notes/a", "conf/deep/old/.netrc", "store/deep/app/.netrc")
	for name, target := range map[string]string{"data/credentials.json": "../vault/keys", ".config/tenon/tenon.json": "../../dotfiles/tenon.json", ".config/tenon/agents/a.md": "../../../dotfiles/a.md", ".config/tenon/skill": "../../skill", ".config/tenon/skills": "../../skills"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o700), os.Symlink(target, filepath.Join(home, name))); err != nil {
			t.Fatal(err)
		}
	}
	list, err := sandbox.Find(sandbox.Options{Project: sdk.Project{Home: home, DataDir: home + "/data", CacheDir: home + "/cache"}, Environ: []string{"XDG_CONFIG_HOME=" + home + "/conf/deep", "XDG_DATA_HOME=" + home + "/store/deep", "XDG_STATE_HOME=" + home + "/state/deep", "TENON_CONFIG=" + home + "/own.json"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		".ssh", ".aws", ".netrc", "backup/.ssh", ".config/old/.netrc", ".config/gh", "conf/deep/gh", "conf/deep/old/.netrc", "store/deep/keyrings", "store/deep/app/.netrc", ".local/share/keyrings", ".local/state/bash", ".local/state/old/.netrc", "state/deep/lesshst", "Maildir", "/var/mail", ".cargo/credentials.toml", ".bash_history",
		"data", "cache", "own.json", ".config/tenon", "vault/keys", "dotfiles/tenon.json", "dotfiles/a.md",
	} {
		if !has(list, sandbox.Hide, projectfs.Join(home, path)) {
			t.Errorf("%s is not hidden", path)
		}
	}
	for _, path := range []string{"notes", "src", ".config", ".config/old", "src/project/.npmrc", "skill", "skills"} {
		if has(list, sandbox.Hide, filepath.Join(home, path)) {
			t.Errorf("%s is hidden", path)
		}
	}
}

// Secrets that variables name are hidden, wherever they are, but a project with one of them stays confined.
func TestSecretsByVariable(t *testing.T) {
	t.Parallel()
	cargo, empty := newHome(t, "credentials.toml"), t.TempDir()
	list, err := sandbox.Find(sandbox.Options{Project: sdk.Project{Home: "/none"}, Environ: []string{"KUBECONFIG=/none/a:/none/b/c:relative", "GOOGLE_APPLICATION_CREDENTIALS=/none/project/key.json", "HISTFILE=/dev/null", "GNUPGHOME=/none", "CARGO_HOME=" + cargo, "HF_HOME=" + empty}})
	if err != nil {
		t.Fatal(err)
	}
	got := sandbox.Policy(list, "/none/project").Hide
	for path, want := range map[string]bool{"/none/a": true, "/none/b/c": true, "relative": false, "/none": false, "/none/project/key.json": false, "/dev/null": false, cargo: false, cargo + "/credentials.toml": true, empty + "/token": false} {
		if slices.Contains(got, path) != want {
			t.Errorf("%s is hidden: %v, want %v", path, !want, want)
		}
	}
}

// Another HOME, or none, does not make the secrets of the account readable; only a project with them is readable as a whole.
func TestSecretsOfTheAccount(t *testing.T) {
	t.Parallel()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	for _, home := range []string{"", t.TempDir()} {
		list, err := sandbox.Find(sandbox.Options{Project: sdk.Project{Home: home}})
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{".ssh", ".config/gh", ".local/share/tenon"} {
			path = filepath.Join(u.HomeDir, path)
			if !slices.Contains(sandbox.Policy(list).Hide, path) {
				t.Errorf("HOME=%s: %s is not hidden", home, path)
			}
			if slices.Contains(sandbox.Policy(list, u.HomeDir).Hide, path) {
				t.Errorf("HOME=%s: %s is hidden in the project", home, path)
			}
		}
	}
}

// A file that is hidden by its name alone is not hidden in the project.
func TestProjectWithANameOfASecret(t *testing.T) {
	t.Parallel()
	home := newHome(t, "project/.npmrc", "other/.npmrc")
	list, err := sandbox.Find(sandbox.Options{Project: sdk.Project{Home: home}})
	if err != nil {
		t.Fatal(err)
	}
	hide := sandbox.Policy(list, home+"/project").Hide
	if slices.Contains(hide, home+"/project/.npmrc") || !slices.Contains(hide, home+"/other/.npmrc") {
		t.Errorf("hidden: %q", hide)
	}
}

func TestCaches(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	for _, program := range []string{"go", "npm"} {
		if err := os.WriteFile(filepath.Join(bin, program), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		environ []string
		env     string // of go env -w
		want    []string
		without []string
	}{
		"defaults":            {nil, "", []string{".cache/go-build", "go/pkg/mod", "go/pkg/sumdb", ".npm/_cacache", ".npm/_logs"}, []string{"go", "go/pkg", ".npm", ".cache", ".cargo/registry"}},
		"variables":           {[]string{"GOCACHE=$H/a", "GOMODCACHE=$H/b", "npm_config_cache=$H/c"}, "", []string{"a", "b", "c/_cacache"}, []string{".cache/go-build", "c"}},
		"go env -w":           {nil, "GOMODCACHE=$H/m\nGOPATH=$H/p\n", []string{"m", "p/pkg/sumdb"}, []string{"go/pkg/mod"}},
		"without its program": {nil, "", []string{".ccache"}, nil},
		"a directory on PATH": {[]string{"GOMODCACHE=$H/tools", "PATH=$H/tools/bin"}, "", []string{".cache/go-build"}, []string{"tools"}},
		"tenon's files":       {[]string{"GOCACHE=$H/data/x", "GOMODCACHE=$H"}, "", nil, []string{"data/x", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := newHome(t)
			expand := func(s string) string { return strings.ReplaceAll(s, "$H", home) }
			if c.env != "" {
				file := newHome(t) + "/env"
				if err := os.WriteFile(file, []byte(expand(c.env)), 0o644); err != nil {
					t.Fatal(err)
				}
				c.environ = append(c.environ, "GOENV="+file)
			}
			environ := []string{"PATH=" + bin}
			for _, entry := range c.environ {
				entry = expand(entry)
				if path, ok := strings.CutPrefix(entry, "PATH="); ok {
					entry = "PATH=" + bin + ":" + path
				}
				environ = append(environ, entry)
			}
			if err := errors.Join(os.Mkdir(home+"/.ccache", 0o700), os.MkdirAll(home+"/programs/global", 0o700)); err != nil {
				t.Fatal(err)
			}
			list, err := sandbox.Find(sandbox.Options{Project: sdk.Project{Home: home, DataDir: home + "/data"}, Environ: append(environ, "CCACHE_DIR="+home+"/.ccache"), Create: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range c.want {
				if path = filepath.Join(home, path); !has(list, sandbox.Write, path) {
					t.Errorf("%s is not writable", path)
				} else if _, err := os.Stat(path); err != nil {
					t.Error(err)
				}
			}
			for _, path := range c.without {
				if has(list, sandbox.Write, filepath.Join(home, path)) {
					t.Errorf("%s is writable", path)
				}
			}
		})
	}
}

// Commands cannot make another directory writable with a link in place of a cache in a directory that they write.
func TestCacheInWritableDirectory(t *testing.T) {
	t.Parallel()
	home := newHome(t, "project/a", "more/a", "other/caches/a", "other/.package-cache")
	for _, link := range []string{"project/link", "more/link"} {
		if err := os.Symlink(home+"/other", filepath.Join(home, link)); err != nil {
			t.Fatal(err)
		}
	}
	list, err := sandbox.Find(sandbox.Options{
		Project: sdk.Project{Home: home, Worktree: home + "/project"}, Config: sdk.SandboxConfig{Write: []string{"~/more"}},
		Environ: []string{"GOCACHE=" + home + "/project/link", "GRADLE_USER_HOME=" + home + "/project/link", "GOMODCACHE=" + home + "/more/link", "CARGO_HOME=" + home + "/project/link", "PIP_CACHE_DIR=" + home + "/other"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{"project/link": false, "project/link/caches": false, "project/link/.package-cache": false, "more/link": false, "other": true} {
		if got := has(list, sandbox.Write, filepath.Join(home, path)); got != want {
			t.Errorf("%s is writable: %v", path, got)
		}
	}
}

// A cache whose path is relative is not created in the working directory: confined commands could not use it.
func TestRelativeCache(t *testing.T) {
	t.Chdir(t.TempDir())
	home := newHome(t)
	if err := os.WriteFile(filepath.Join(home, "pip"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := sandbox.Find(sandbox.Options{Project: sdk.Project{Home: home}, Environ: []string{"PATH=" + home, "PIP_CACHE_DIR=cache"}, Create: true})
	if _, missing := os.Stat("cache"); err != nil || !os.IsNotExist(missing) {
		t.Errorf("Find = %v; the cache: %v", err, missing)
	}
}

// Directories of skills may be below ~/, as in the configuration.
func TestSkillsBelowHome(t *testing.T) {
	t.Parallel()
	home := newHome(t)
	list, err := sandbox.Find(sandbox.Options{Project: sdk.Project{Home: home}, Skills: []string{"~/team", home + "/own", "relative"}})
	if err != nil || !has(list, sandbox.Read, home+"/team") || !has(list, sandbox.Read, home+"/own") {
		t.Errorf("paths %+v, %v", list, err)
	}
}

// Without Create nothing is created, and neither is a home directory that does not exist.
func TestCreatesNothing(t *testing.T) {
	t.Parallel()
	home := newHome(t)
	for _, o := range []sandbox.Options{{Project: sdk.Project{Home: home}}, {Project: sdk.Project{Home: home + "/none"}, Create: true}} {
		if _, err := sandbox.Find(o); err != nil {
			t.Fatal(err)
		}
	}
	if entries, err := os.ReadDir(home); len(entries) > 0 || err != nil {
		t.Errorf("created %v, %v", entries, err)
	}
}

func TestConfigured(t *testing.T) {
	t.Parallel()
	home := newHome(t, "more/a", "link-target/a", ".config/tenon/x")
	if err := os.Symlink(home+"/.config", home+"/link"); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		config sdk.SandboxConfig
		fails  string
	}{
		"good":                    {sdk.SandboxConfig{Write: []string{"~/more"}, Read: []string{"~/.netrc"}, Hide: []string{"/srv"}}, ""},
		"tenon's by a link":       {sdk.SandboxConfig{Write: []string{"~/link"}}, "files of tenon"},
		"in tenon's":              {sdk.SandboxConfig{Write: []string{"~/.config/tenon/x"}}, "files of tenon"},
		"above the home":          {sdk.SandboxConfig{Write: []string{filepath.Dir(home)}}, "cannot be writable"},
		"a program's directory":   {sdk.SandboxConfig{Write: []string{"/usr/bin"}}, "in PATH"},
		"above a program's":       {sdk.SandboxConfig{Write: []string{"/usr"}}, "in PATH"},
		"relative":                {sdk.SandboxConfig{Hide: []string{"x"}}, `path "x" is not absolute`},
		"what does not exist":     {sdk.SandboxConfig{Write: []string{"~/none"}}, "no such file"},
		"hidden, does not exist":  {sdk.SandboxConfig{Hide: []string{"~/none"}}, ""},
		"readable, does not, too": {sdk.SandboxConfig{Read: []string{"~/none"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list, err := sandbox.Find(sandbox.Options{
				Project: sdk.Project{Home: home, ConfigDir: home + "/.config/tenon"}, Environ: []string{"PATH=/usr/bin:/bin"}, Config: c.config,
				Origin: func(key string) string { return "tenon.json:3" },
			})
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) || !strings.HasPrefix(err.Error(), "tenon.json:3: sandbox.") {
					t.Errorf("error %v, want %q in it", err, c.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if name == "good" && !(has(list, sandbox.Write, home+"/more") && has(list, sandbox.Hide, "/srv") && !slices.Contains(sandbox.Policy(list, home+"/more").Hide, home+"/.netrc")) {
				t.Errorf("paths %+v", list)
			}
		})
	}
}

// A file system that is mounted twice has each secret twice.
func TestSecretsAtOtherMounts(t *testing.T) {
	t.Parallel()
	const once = "22 1 0:21 / /proc rw - proc proc rw\n27 1 254:0 / / rw shared:1 - ext4 /dev/vda rw\n28 27 254:1 / /none/home rw - ext4 /dev/vdb rw\n"
	hidden := func(home, mounts string) (out []string) {
		list, err := sandbox.FindIn(sandbox.Options{Project: sdk.Project{Home: home}, Environ: []string{"HISTFILE=/dev/null"}}, mounts)
		if err != nil {
			t.Error(err)
		}
		for _, p := range list {
			if p.Access == sandbox.Hide {
				out = append(out, p.Path)
			}
		}
		return out
	}
	tests := map[string]struct {
		more, home string
		want       []string // hidden as well because of more; none means nothing else is hidden
	}{
		"a space":           {`30 27 254:1 / /none/my\040disk ro - ext4 /dev/vdb rw`, "/none/home/a", []string{"/none/my disk/a/.ssh"}},
		"a directory":       {"30 27 254:1 /a /none/work rw - ext4 /dev/vdb rw", "/none/home/a", []string{"/none/work/.ssh", "/none/work/.config/gh"}},
		"from a directory":  {"30 27 254:0 /none/sys/var /none/var rw - ext4 /dev/vda rw", "/none/var/a", []string{"/none/sys/var/a/.ssh"}},
		"another directory": {"30 27 254:1 /b /none/work rw - ext4 /dev/vdb rw", "/none/home/a", nil},
		"mounted over":      {"30 27 254:0 / /none/root rw - ext4 /dev/vda rw", "/none/home/a", []string{"/none/root/none/home", "/none/root/dev"}},
		"mounted over, too": {"30 27 254:0 / /none/root rw - ext4 /dev/vda rw\n31 30 254:1 / /none/root/none/home rw - ext4 /dev/vdb rw", "/none/home/a", []string{"/none/root/none/home/a/.ssh"}},
		"in itself":         {"30 27 254:0 / /none/root rw - ext4 /dev/vda rw", "/none/root/none/a", []string{"/none/a/.ssh", "/none/root/none/root"}},
	}
	for name, more := range map[string]string{
		"a container": "40 27 0:108 / /dev rw - tmpfs tmpfs rw\n41 22 0:108 /null /proc/kcore rw - tmpfs tmpfs rw\n",
		"a chroot":    "51 50 254:1 /home /home rw - ext4 /dev/vdb rw\n52 50 254:1 /tmp /tmp rw - ext4 /dev/vdb rw\n",
	} {
		mounts := once + more
		if name == "a chroot" {
			mounts = more
		}
		if list := hidden("/none/home/a", mounts); slices.ContainsFunc(list, func(path string) bool { return strings.HasPrefix(path, "/proc") }) {
			t.Errorf("in %s: %q", name, list)
		}
	}
	shared := once + "60 27 254:2 / /tmp rw - ext4 /dev/vdc rw\n61 28 254:2 / /none/home/a rw - ext4 /dev/vdc rw\n"
	list, err := sandbox.FindIn(sandbox.Options{Project: sdk.Project{Home: "/none/home/a"}}, shared)
	if readable := (sandbox.Path{Path: "/none/home/a", Access: sandbox.Read, Origin: "home directory"}); err != nil || !slices.Contains(list, readable) {
		t.Errorf("a home directory that is also mounted as /tmp is not readable: %v", err)
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			known := hidden(c.home, once)
			more := slices.DeleteFunc(hidden(c.home, once+c.more), func(path string) bool { return slices.Contains(known, path) })
			for _, path := range c.want {
				if !slices.Contains(more, path) {
					t.Errorf("%s is not hidden", path)
				}
			}
			if slices.Contains(more, "/none/home") || slices.Contains(more, "/none/root") || c.want == nil && len(more) > 0 {
				t.Errorf("hidden as well: %q", more)
			}
		})
	}
}

// A confined command, such as tenon plugin test, can confine commands itself.
func TestSandboxInSandbox(t *testing.T) {
	const role = "TENON_TEST_SANDBOX"
	if _, err := confine.Supported(); err != nil {
		t.Skip(err)
	}
	list, err := sandbox.Find(sandbox.Options{Project: sdk.Project{Home: t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program, "-test.run=^TestSandboxInSandbox$")
	project := t.TempDir()
	policy := sandbox.Policy(list, project)
	command.Env = append(os.Environ(), role+"=inner", "TMPDIR="+project)
	if os.Getenv(role) != "" {
		command = exec.Command("/bin/sh", "-c", "exit 0")
	}
	policy.Read = append(policy.Read, program)
	rules, err := confine.New(policy)
	if err != nil {
		t.Fatal(err)
	}
	defer rules.Close()
	var out strings.Builder
	command.Stdout, command.Stderr = &out, &out
	if err = rules.Do(command.Start); err == nil {
		err = command.Wait()
	}
	if err != nil {
		t.Errorf("%s: %v\n%s", command, err, &out)
	}
}
