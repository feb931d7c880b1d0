package shell_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenonhq/tenon/builtin/tools/shell"
	"github.com/tenonhq/tenon/internal/confine"
	"github.com/tenonhq/tenon/sdk"
)

// confinedFixture is a started plugin of a user whose home directory is given, with a project.
func confinedFixture(t testing.TB, home, dir string, config sdk.Config) *fixture {
	t.Helper()
	if _, err := confine.Supported(); err != nil {
		t.Skip(err)
	}
	p := shell.New()
	if err := p.Start(t.Context(), &host{home: home, dir: dir, config: config}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return &fixture{tool: p.Tools()[0], host: &callHost{env: []string{"HOME=" + home}}, dir: dir}
}

// newHome returns a home directory with secrets and a project in it.
func newHome(t testing.TB) (home, project string) {
	t.Helper()
	home = t.TempDir()
	for path, text := range map[string]string{
		".ssh/id": "key", ".config/gh/hosts.yml": "token", ".netrc": "token", "dotfiles/.aws/credentials": "token", "notes": "notes", "work/project/a": "a",
		".config/tenon/tenon.json": "{}", ".config/tenon/skills/s/SKILL.md": "skill", ".config/tenon/skill/s/SKILL.md": "skill", ".local/share/keyrings/k": "key", "other/file": "other",
		".config/tenon/store/p/scripts/run.sh": "echo script",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(home, path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return home, filepath.Join(home, "work/project")
}

func TestConfined(t *testing.T) {
	t.Parallel()
	home, project := newHome(t)
	f := confinedFixture(t, home, project, sdk.Config{Skills: sdk.SkillsConfig{Packaged: []sdk.PackagedSkill{{Root: filepath.Join(home, ".config/tenon/store/p")}}}})
	for name, c := range map[string]struct {
		command string
		ok      bool
	}{
		"write the project":        {"echo b > b && mkdir -p c/d && mv b c/d && rm -r c", true},
		"its own TMPDIR":           {`case $TMPDIR in /*/tenon-*/session-*) ;; *) exit 1;; esac; echo x > $TMPDIR/x && mktemp`, true},
		"npm's packages":           {`[[ $(readlink "$npm_config_cache/_cacache") == /*/_cacache && $npm_config_update_notifier == false ]]`, true},
		"private settings":         {`[[ $COMPOSER_HOME == $TMPDIR/* && $BUNDLE_USER_HOME == $TMPDIR/* ]]`, true},
		"read elsewhere":           {"cat ~/notes ~/other/file /etc/hostname", true},
		"write elsewhere":          {"echo x >> ~/notes", false},
		"write in /tmp":            {"echo x > /tmp/tenon-test-$$", false},
		"read in /tmp":             {"ls /tmp", false},
		"read a key":               {"cat ~/.ssh/id", false},
		"read a token":             {"cat ~/.config/gh/hosts.yml", false},
		"read a file of secrets":   {"cat ~/.netrc", false},
		"read a copy of secrets":   {"cat ~/dotfiles/.aws/credentials", false},
		"list where a copy is":     {"ls ~/dotfiles", true},
		"list the home directory":  {"ls ~", false},
		"read a keyring":           {"cat ~/.local/share/keyrings/k", false},
		"read tenon's files":       {"cat ~/.config/tenon/tenon.json", false},
		"change tenon's files":     {"echo '{}' > ~/.config/tenon/tenon.json", false},
		"the environment of tenon": {"cat /proc/$PPID/environ", false},
		"another environment":      {"cat /proc/1/environ", false},
		"a script of a plugin":     {"sh ~/.config/tenon/store/p/scripts/run.sh", true},
		"skills of tenon's":        {"cat ~/.config/tenon/skills/s/SKILL.md ~/.config/tenon/skill/s/SKILL.md", true},
		"signal tenon":             {"kill -CONT $PPID", false},
		"mount":                    {"mount -t tmpfs none .", false},
		"set the clock":            {"date -s @0", false},
		"a terminal":               {": < /dev/ptmx", false},
		"the terminal of tenon":    {"grep -q denied <<< \"$( (: < /dev/tty) 2>&1)\"", true},
		"ends before tenon":        {"until grep -qx 1000 /proc/$$/oom_score_adj; do :; done; grep -qx 1000 /proc/self/oom_score_adj && ! grep -qx 1000 /proc/$PPID/oom_score_adj", true},
		"and stays so":             {"echo 0 > /proc/self/oom_score_adj", false},
		"devices":                  {"head -c 1 /dev/zero > /dev/null", true},
		"a refusal of Java":        {"echo 'java.nio.file.AccessDeniedException: /root/x'; exit 1", false},
		"a refusal of Maven":       {"echo '[ERROR] Could not create local repository at /root/.m2/repository'; exit 1", false},
		"a refusal of Gradle":      {"echo 'Could not create parent directory for lock file /root/.gradle/wrapper/x.lck'; exit 1", false},
		"a refusal of SQLite":      {"echo 'Error: unable to open database \"/root/x.db\": unable to open database file'; exit 1", false},
		"a refusal behind a pipe":  {"cat ~/.ssh/id 2>&1 | tail -1", true},
		"a search for refusals":    {"echo 'permission denied' > log; grep 'permission denied' log | head", true},
		"a text with a refusal":    {"printf 'permission %s\\n' denied; seq 1000", true},
		"redirections of bash":     {"cat <<< x > /dev/stderr && diff <(echo a) <(echo a)", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := f.run(t, map[string]any{"command": c.command})
			if ok := result.Metadata["exit"] == 0; ok != c.ok {
				t.Errorf("%s: exit %v, want success %v: %s", c.command, result.Metadata["exit"], c.ok, result.Output)
			}
			if noted := strings.Contains(result.Output, "ran confined"); noted == (c.ok && name != "a refusal behind a pipe") && name != "set the clock" && name != "mount" {
				t.Errorf("%s: the note is there: %v; %s", c.command, noted, result.Output)
			}
			if named := strings.Contains(result.Output, home+"/.netrc is hidden"); named != (name == "read a file of secrets") {
				t.Errorf("%s: the remedy is there: %v; %s", c.command, named, result.Output)
			}
			if result.Metadata["confined"] != true {
				t.Errorf("metadata %v", result.Metadata)
			}
		})
	}
	t.Run("unconfined", func(t *testing.T) {
		t.Parallel()
		result := f.run(t, map[string]any{"command": "cat ~/.ssh/id && echo x > ~/new", "unconfined": true})
		if result.Output != "key" || result.Metadata["confined"] != false {
			t.Errorf("output %q, metadata %v", result.Output, result.Metadata)
		}
	})
}

// Files that come to the home directory later are readable to the next command, and secrets are not.
func TestConfinedLater(t *testing.T) {
	t.Parallel()
	home, project := newHome(t)
	f := confinedFixture(t, home, project, sdk.Config{})
	f.run(t, map[string]any{"command": "true"})
	for name, text := range map[string]string{"later": "later", ".npmrc": "token"} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	result := f.run(t, map[string]any{"command": "cat ~/later; cat ~/.npmrc"})
	if !strings.HasPrefix(result.Output, "later") || strings.Contains(result.Output, "token") {
		t.Errorf("output %q", result.Output)
	}
}

func TestConfinedConfig(t *testing.T) {
	t.Parallel()
	off := false
	for name, c := range map[string]struct {
		config  sdk.SandboxConfig
		command string
		output  string
		fails   string
	}{
		"more to write":     {sdk.SandboxConfig{Write: []string{"~/other"}}, "echo x > ~/other/x && echo ok", "ok\n", ""},
		"more to read":      {sdk.SandboxConfig{Read: []string{"~/.netrc"}}, "cat ~/.netrc", "token", ""},
		"more to hide":      {sdk.SandboxConfig{Hide: []string{"~/other"}}, "cat ~/other/file 2>/dev/null || echo hidden", "hidden\n", ""},
		"its names":         {sdk.SandboxConfig{Hide: []string{"~/dotfiles/own"}}, "ls ~/dotfiles ~/dotfiles/own 2>/dev/null || echo hidden", "hidden\n", ""},
		"switched off":      {sdk.SandboxConfig{Enabled: &off}, "cat ~/.ssh/id", "key", ""},
		"tenon's files":     {sdk.SandboxConfig{Write: []string{"~/.config"}}, "true", "", "files of tenon"},
		"the home":          {sdk.SandboxConfig{Write: []string{"~/"}}, "true", "", "cannot be writable"},
		"programs":          {sdk.SandboxConfig{Write: []string{"/usr"}}, "true", "", "in PATH"},
		"a relative path":   {sdk.SandboxConfig{Write: []string{"x"}}, "true", "", "not absolute"},
		"a path that is no": {sdk.SandboxConfig{Write: []string{"~/none"}}, "true", "", "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home, project := newHome(t)
			f := confinedFixture(t, home, project, sdk.Config{Sandbox: c.config})
			result, err := f.tool.Execute(t.Context(), f.call(t, map[string]any{"command": c.command}))
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("error %v, want %q in it", err, c.fails)
				}
				return
			}
			if err != nil || result.Output != c.output {
				t.Errorf("result %+v, %v; want output %q", result, err, c.output)
			}
		})
	}
}

// Each question says whether the command runs confined; one to leave the sandbox comes with the parameter, and where the project holds
// secrets.
func TestPrepareConfined(t *testing.T) {
	t.Parallel()
	home, project := newHome(t)
	off := false
	for name, c := range map[string]struct {
		dir    string
		args   map[string]any
		config sdk.SandboxConfig
		asks   bool
		always []string
		text   string
	}{
		"confined":         {project, map[string]any{"command": "make"}, sdk.SandboxConfig{}, false, nil, "confined: writes only"},
		"unconfined":       {project, map[string]any{"command": "make x", "unconfined": true}, sdk.SandboxConfig{}, true, []string{"make x"}, "NOT confined: the model asks"},
		"a pattern":        {project, map[string]any{"command": "make *", "unconfined": true}, sdk.SandboxConfig{}, true, nil, "NOT confined: the model asks"},
		"the home":         {home, map[string]any{"command": "make"}, sdk.SandboxConfig{}, true, []string{"make"}, "NOT confined: the project contains " + home},
		"above the home":   {filepath.Dir(home), map[string]any{"command": "make"}, sdk.SandboxConfig{}, true, []string{"make"}, "NOT confined: the project contains " + home},
		"a secret":         {home + "/.config", map[string]any{"command": "make"}, sdk.SandboxConfig{}, true, []string{"make"}, "NOT confined: the project contains " + home},
		"switched off":     {project, map[string]any{"command": "make"}, sdk.SandboxConfig{Enabled: &off}, false, nil, "NOT confined: the configuration"},
		"off, and the ask": {project, map[string]any{"command": "make", "unconfined": true}, sdk.SandboxConfig{Enabled: &off}, true, []string{"make"}, "NOT confined: the configuration"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := confinedFixture(t, home, c.dir, sdk.Config{Sandbox: c.config})
			requests, err := f.tool.(sdk.ToolPreparer).Prepare(t.Context(), f.call(t, c.args))
			if err != nil {
				t.Fatal(err)
			}
			asks := false
			for _, r := range requests {
				if text, _ := r.Metadata["sandbox"].(string); !strings.HasPrefix(text, c.text) {
					t.Errorf("%s: %q, want %q", r.Permission, text, c.text)
				}
				if r.Permission == sdk.PermissionUnconfined {
					asks = true
					if !slices.Equal(r.Patterns, []string{c.args["command"].(string)}) || !slices.Equal(r.Always, c.always) {
						t.Errorf("request %+v", r)
					}
				}
			}
			if asks != c.asks || len(requests) == 0 {
				t.Errorf("asks to leave the sandbox: %v, want %v", asks, c.asks)
			}
		})
	}
}

// A call whose permission is for a confined command never runs unconfined, even if the project contains secrets by then.
func TestConflictAfterPrepare(t *testing.T) {
	t.Parallel()
	home, project := newHome(t)
	f := confinedFixture(t, home, project, sdk.Config{})
	prepare := func() *sdk.ToolCall {
		call := f.call(t, map[string]any{"command": "cat ~/other/file"})
		if _, err := f.tool.(sdk.ToolPreparer).Prepare(t.Context(), call); err != nil {
			t.Fatal(err)
		}
		return call
	}
	calls := []*sdk.ToolCall{prepare(), prepare()}
	if err := os.RemoveAll(filepath.Join(home, ".ssh")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(project, "keys"), filepath.Join(home, ".ssh")); err != nil {
		t.Fatal(err)
	}
	for i, call := range calls {
		if result, err := f.tool.Execute(t.Context(), call); err == nil || !strings.Contains(err.Error(), "try again") {
			t.Errorf("call %d: %+v, %v; want that it is not run", i+1, result, err)
		}
	}
	result, err := f.tool.Execute(t.Context(), prepare())
	if err != nil || result.Output != "other" {
		t.Errorf("with permission for an unconfined command: %+v, %v", result, err)
	}
}

// The token of a process counts even while it executes another program; this one does so all the time.
func TestTokenOf(t *testing.T) {
	t.Parallel()
	again := filepath.Join(t.TempDir(), "again")
	if err := os.WriteFile(again, []byte("#!/bin/sh\nexec \"$0\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), again)
	cmd.Env = []string{shell.TokenVariable + "=x"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for i := range 1500 {
		if token := shell.TokenOf(cmd.Process.Pid); token != "x" {
			t.Fatalf("read %d: token %q", i, token)
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	cmd = exec.CommandContext(t.Context(), "sleep", "1000")
	cmd.Env = []string{}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if token := shell.TokenOf(cmd.Process.Pid); token != "" || time.Since(begin) >= 5*time.Second {
		t.Errorf("token %q of a process without variables, after %s", token, time.Since(begin))
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// Processes that a command leaves behind end with it, even in its own session and without its environment; other processes stay.
func TestSurvivors(t *testing.T) { // not parallel: a process without a token ends with the last command that runs
	home, project := newHome(t)
	f := confinedFixture(t, home, project, sdk.Config{})
	plain := exec.Command("sleep", "1000") // as a server or a plugin is started
	plain.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	apart := exec.Command("sh", "-c", "sleep 1000 & wait")
	apart.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	for _, cmd := range []*exec.Cmd{plain, apart} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		command    string
		unconfined bool
	}{
		"setsid":                    {`setsid sh -c 'echo $$; : > up; exec sleep 1000' & ` + untilUp, false},
		"a daemon":                  {`(setsid sh -c 'echo $$; (sleep 1001 & echo $!); : > up; exec sleep 1000' </dev/null 2>/dev/null &); ` + untilUp, false},
		"without its environment":   {`(env -i setsid /bin/sh -c 'echo $$; : > up; exec sleep 1000' &); ` + untilUp, false},
		"with another token":        {`(TENON_SHELL_CALL=x setsid sh -c 'echo $$; : > up; exec sleep 1000' &); ` + untilUp, false},
		"in the background":         {`nohup sleep 1000 >/dev/null 2>&1 & echo $!`, false},
		"a daemon that forks on":    {`(env -i setsid /bin/sh -c 'echo $$; : > up; while :; do (sleep 0.01 &) ; sleep 0.01; done' &); ` + untilUp, false},
		"unconfined and a session":  {`(setsid sh -c 'echo $$; : > up; exec sleep 1000' &); ` + untilUp, true},
		"stopped, in a session":     {`(setsid sh -c 'echo $$; : > up; kill -STOP $$' &); ` + untilUp, false},
		"ignores what it can":       {`(setsid sh -c 'trap "" TERM HUP INT; echo $$; : > up; while :; do sleep 0.1; done' &); ` + untilUp, false},
		"a daemon of the same kind": {`(env -i setsid -f /bin/sh -c 'echo $$; : > up; exec sleep 1000'); ` + untilUp, false},
	} {
		t.Run(name, func(t *testing.T) {
			result := f.run(t, map[string]any{"command": "rm -f up; " + c.command, "unconfined": c.unconfined})
			for _, pid := range pids(result.Output) {
				if alive(pid) {
					t.Errorf("process %d runs", pid)
				}
			}
			if len(pids(result.Output)) == 0 {
				t.Errorf("output %q", result.Output)
			}
		})
	}
	for _, cmd := range []*exec.Cmd{plain, apart} {
		if !alive(cmd.Process.Pid) {
			t.Errorf("process %v was ended too", cmd.Args)
		}
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil { // with its group
			t.Error(err)
		}
		_ = cmd.Wait()
	}
}

// A call does not end processes of a concurrent call.
func TestSurvivorsOfOthers(t *testing.T) {
	t.Parallel()
	home, project := newHome(t)
	f := confinedFixture(t, home, project, sdk.Config{})
	long := make(chan *sdk.ToolResult, 1)
	if err := syscall.Mkfifo(filepath.Join(project, "go"), 0o600); err != nil {
		t.Fatal(err)
	}
	go func() { // ends when the fifo is written below
		result, err := f.tool.Execute(t.Context(), f.call(t, map[string]any{"command": `(setsid sh -c 'echo $$ > pid; exec sleep 1000' &); read x < go; kill -0 $(cat pid) && echo there`}))
		if err != nil {
			t.Error(err)
		}
		long <- result
	}()
	eventually(t, "the long command runs", func() bool {
		text, err := os.ReadFile(filepath.Join(project, "pid"))
		return err == nil && len(text) > 0
	})
	for range 3 {
		f.run(t, map[string]any{"command": "setsid sleep 1000 & true"})
	}
	if err := os.WriteFile(filepath.Join(project, "go"), []byte("x\n"), 0); err != nil {
		t.Fatal(err)
	}
	if result := <-long; result == nil || !strings.HasPrefix(result.Output, "there\n") {
		t.Errorf("result %+v", result)
	}
}

// A process that a confined command leaves behind ends with the last of the calls that overlap, even if that call is unconfined.
func TestSurvivorsBesideAnUnconfinedCommand(t *testing.T) { // not parallel, as TestSurvivors
	home, project := newHome(t)
	f := confinedFixture(t, home, project, sdk.Config{})
	if err := syscall.Mkfifo(filepath.Join(project, "go"), 0o600); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { // ends when the fifo is written below
		_, err := f.tool.Execute(t.Context(), f.call(t, map[string]any{"command": `: > begun; read x < go`, "unconfined": true}))
		ended <- err
	}()
	eventually(t, "the unconfined command runs", func() bool {
		_, err := os.Stat(filepath.Join(project, "begun"))
		return err == nil
	})
	left := pids(f.run(t, map[string]any{"command": `(env -i setsid /bin/sh -c 'echo $$; : > up; exec sleep 1000' &); ` + untilUp}).Output)
	if err := os.WriteFile(filepath.Join(project, "go"), []byte("x\n"), 0); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if len(left) != 1 || alive(left[0]) {
		t.Errorf("process %v runs", left)
	}
}

// Settings and hooks of git are put back, and the result names them.
func TestGitIsPutBack(t *testing.T) {
	t.Parallel()
	home, project := newHome(t)
	f := confinedFixture(t, home, project, sdk.Config{})
	f.host.env = append(f.host.env, "GIT_CONFIG_GLOBAL=/dev/null")
	f.run(t, map[string]any{"command": "git init -q . && git config user.email a@b.c && git config user.name a"})
	result := f.run(t, map[string]any{"command": "git add a && git commit -q -m x && git log --oneline | wc -l"})
	if result.Output != "1\n" {
		t.Fatalf("a commit: %q", result.Output)
	}
	result = f.run(t, map[string]any{"command": "git config core.fsmonitor ./evil; echo x > .git/hooks/post-commit"})
	if !strings.Contains(result.Output, "core.fsmonitor in .git/config was put back") || !strings.Contains(result.Output, ".git/hooks/post-commit was put back") {
		t.Errorf("output %q", result.Output)
	}
	if _, err := os.Stat(filepath.Join(project, ".git/hooks/post-commit")); err == nil {
		t.Error("the hook stays")
	}
	result = f.run(t, map[string]any{"command": "(setsid sh -c 'sleep 30; git config core.pager evil' &) ; git config core.pager || echo none"})
	if !strings.HasPrefix(result.Output, "none\n") {
		t.Errorf("output %q", result.Output)
	}
}

// loggingHost is a host that keeps what is logged.
type loggingHost struct {
	host
	log bytes.Buffer
}

func (h *loggingHost) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(&h.log, nil)) }

// Files that a lock kept from being restored after its command are restored when the turn ends, and the user is warned. Files that the user changes
// meanwhile stays.
func TestGitAtTheEndOfTheTurn(t *testing.T) {
	t.Parallel()
	if _, err := confine.Supported(); err != nil {
		t.Skip(err)
	}
	home, project := newHome(t)
	h := &loggingHost{host: host{home: home, dir: project}}
	p := shell.New()
	if err := p.Start(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	defer p.Close(context.Background())
	f := &fixture{tool: p.Tools()[0], host: &callHost{env: []string{"HOME=" + home}}, dir: project}
	endTurn := func() {
		t.Helper()
		if _, err := p.Hooks()[0].Handler.Handle(t.Context(), &sdk.HookCall{Input: &sdk.TurnStopInput{}}); err != nil {
			t.Fatal(err)
		}
	}
	f.run(t, map[string]any{"command": "git init -q ."})
	result := f.run(t, map[string]any{"command": "git config core.fsmonitor ./evil; touch .git/config.lock"})
	if !strings.Contains(result.Output, "could not be put back") {
		t.Errorf("after the command: %q", result.Output)
	}
	endTurn()
	for _, want := range []string{"level=WARN", ".git/config.lock was removed", "core.fsmonitor in .git/config was put back"} {
		if !strings.Contains(h.log.String(), want) {
			t.Errorf("no %q in the log:\n%s", want, &h.log)
		}
	}
	config := filepath.Join(project, ".git/config")
	text, err := os.ReadFile(config)
	if err != nil || strings.Contains(string(text), "fsmonitor") {
		t.Errorf("configuration: %s, %v", text, err)
	}
	h.log.Reset()
	f.run(t, map[string]any{"command": "git status"})
	if err := os.WriteFile(config, append(text, "[core]\n\teditor = vi\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	endTurn()
	if text, err := os.ReadFile(config); err != nil || !strings.Contains(string(text), "editor") || !strings.Contains(h.log.String(), "left alone") {
		t.Errorf("configuration: %s, %v; log:\n%s", text, err, &h.log)
	}
}

// A linked working tree writes the repository it belongs to; a .git file that only claims this, or that git does not accept, does not.
func TestLinkedWorktree(t *testing.T) {
	t.Parallel()
	home, project := newHome(t)
	script := fmt.Sprintf(`git init -q %[1]s/main && cd %[1]s/main && git -c user.email=a@b.c -c user.name=a commit -q --allow-empty -m x && git worktree add -q %[2]s/linked &&
		git worktree add -q %[2]s/refused && sed -i 's/^gitdir: //' %[2]s/refused/.git && mkdir %[2]s/claim && cp %[2]s/linked/.git %[2]s/claim/.git`, home, filepath.Dir(project))
	if out, err := exec.CommandContext(t.Context(), "/bin/sh", "-c", script).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	command := map[string]any{"command": "echo x > x && git add x && git -c user.email=a@b.c -c user.name=a commit -q -m y && echo done"}
	if result := confinedFixture(t, home, filepath.Dir(project)+"/linked", sdk.Config{}).run(t, command); result.Output != "done\n" {
		t.Errorf("in a linked working tree: %q", result.Output)
	}
	command = map[string]any{"command": "echo x > " + home + "/main/.git/x"}
	for _, name := range []string{"claim", "refused"} {
		if result := confinedFixture(t, home, filepath.Dir(project)+"/"+name, sdk.Config{}).run(t, command); result.Metadata["exit"] == 0 {
			t.Errorf("%s: the repository was written", name)
		}
	}
}

// Programs that builds use work confined. Caches are the user's own.
func TestEverydayPrograms(t *testing.T) {
	t.Parallel()
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	f := confinedFixture(t, home, t.TempDir(), sdk.Config{})
	for program, command := range map[string]string{
		"go": `mkdir -p g && cd g && printf 'module x\ngo 1.20\n' > go.mod && printf 'package main\nfunc main() { println(1) }\n' > main.go &&
			printf 'package main\nimport "testing"\nfunc TestX(t *testing.T) { t.TempDir() }\n' > main_test.go && go build -o x . && ./x && go vet . && go test . && go run .`,
		"git":     `mkdir -p r && cd r && git init -q . && echo x > x && git add . && git -c user.email=a@b.c -c user.name=a commit -q -m x && git checkout -q -b y && git status && git gc -q`,
		"npm":     `mkdir -p n/dep && cd n && echo '{"name": "dep", "version": "1.0.0"}' > dep/package.json && echo '{"name": "n", "scripts": {"t": "node -e 1"}}' > package.json && npm install --offline --no-audit file:./dep && npm run t`,
		"python3": `python3 -c 'import tempfile, subprocess, multiprocessing as m; tempfile.mkdtemp(); subprocess.run(["true"], check=True); m.Lock()' && python3 -m venv --without-pip v`,
		"gcc":     `printf 'int main(void) { return 0; }\n' > a.c && gcc -o a a.c && ./a`,
		"make":    `printf 'all:\n\t@echo made\n' > Makefile && make`,
		"cargo":   `cargo init -q --vcs none c && cd c && cargo build -q --offline && cargo run -q --offline`,
		"java":    `printf 'class A { public static void main(String[] a) throws Exception { java.nio.file.Files.createTempFile("a", "b"); } }' > A.java && java A.java`,
		"ps":      `ps aux | head -3 && ps -ef >/dev/null`,
	} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(program); err != nil {
				t.Skip(err)
			}
			result := f.run(t, map[string]any{"command": "set -e; " + command})
			if result.Metadata["exit"] != 0 || result.Metadata["confined"] != true {
				t.Errorf("%s: %s", command, result.Output)
			}
		})
	}
}

// Temporary files of commands last as long as the plugin, read-only directories among them.
func TestTemporaryFiles(t *testing.T) {
	t.Parallel()
	home, project := newHome(t)
	p := shell.New()
	if err := p.Start(t.Context(), &host{home: home, dir: project}); err != nil {
		t.Fatal(err)
	}
	f := &fixture{tool: p.Tools()[0], host: &callHost{}, dir: project}
	result := f.run(t, map[string]any{"command": `mkdir $TMPDIR/d && echo x > $TMPDIR/d/x && chmod 500 $TMPDIR/d && echo $TMPDIR`})
	dir := strings.TrimSpace(result.Output)
	if result = f.run(t, map[string]any{"command": "cat $TMPDIR/d/x"}); result.Output != "x\n" {
		t.Errorf("the next command of the session: %q", result.Output)
	}
	if err := p.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(dir)); !os.IsNotExist(err) {
		t.Errorf("%s: %v", dir, err)
	}
}

// Commands have a temporary directory after the system has removed it, even if another user has made one of that name.
func TestTemporaryFilesRemoved(t *testing.T) {
	t.Parallel()
	for name, replace := range map[string]func(dir string) error{
		"removed":   func(string) error { return nil },
		"directory": func(dir string) error { return os.Mkdir(dir, 0o700) },
		"link":      func(dir string) error { return os.Symlink(t.TempDir(), dir) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home, project := newHome(t)
			f := confinedFixture(t, home, project, sdk.Config{})
			result := f.run(t, map[string]any{"command": "echo $TMPDIR"})
			dir := filepath.Dir(strings.TrimSpace(result.Output))
			t.Cleanup(func() { os.RemoveAll(dir) })
			if err := errors.Join(os.RemoveAll(dir), replace(dir)); err != nil {
				t.Fatal(err)
			}
			result = f.run(t, map[string]any{"command": "echo x > $TMPDIR/x && echo $TMPDIR"})
			if other := filepath.Dir(strings.TrimSpace(result.Output)); result.Metadata["exit"] != 0 || other == dir {
				t.Errorf("output %q, want a directory other than %s", result.Output, dir)
			}
		})
	}
}
