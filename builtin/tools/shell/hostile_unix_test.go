//go:build unix

package shell_test

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenonhq/tenon/builtin/tools/shell"
	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/sdk"
)

// place is where a hostile command is judged, and run if nothing asks: a project next to files that it must not reach. The file hostile.txt
// describes it.
type place struct{ root string }

func newPlace(t *testing.T, setup string) *place {
	t.Helper()
	p := &place{root: t.TempDir()}
	for name, text := range map[string]string{
		"proj/a": "a\n", "proj/b": "b\n", "proj/victim": "victim\n", "proj/sub/f": "f\n", "proj/evil": "#!/bin/sh\n: >PWNED\n",
		"secret": "S3CRET\n", "out/secret": "S3CRET\n", "home/secret": "S3CRET\n", "out/victim": "victim\n",
		"home/.config/go/telemetry/mode": "off", // otherwise go starts a process that writes here after the test
	} {
		p.write(t, name, text, 0o644)
	}
	for _, dir := range []string{"tmp"} {
		if err := os.Mkdir(filepath.Join(p.root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(p.root, "proj/evil"), 0o755); err != nil {
		t.Fatal(err)
	}
	if setup == "-" {
		return p
	}
	for item := range strings.SplitSeq(strings.ReplaceAll(setup, "@R@", p.root), ";; ") {
		kind, rest, _ := strings.Cut(item, ":")
		name, text, _ := strings.Cut(rest, "=")
		switch kind {
		case "file":
			p.write(t, "proj/"+name, text, 0o644)
		case "exec":
			p.write(t, "proj/"+name, text, 0o755)
		case "link":
			from, to, _ := strings.Cut(rest, "->")
			from = filepath.Join(p.root, "proj", from)
			if err := os.MkdirAll(filepath.Dir(from), 0o755); err != nil {
				t.Fatal(err)
			}
			_ = os.Remove(from)
			if err := os.Symlink(to, from); err != nil {
				t.Fatal(err)
			}
		case "dir":
			if err := os.MkdirAll(filepath.Join(p.root, "proj", rest), 0o755); err != nil {
				t.Fatal(err)
			}
		case "run":
			if out, err := p.command(t, rest).CombinedOutput(); err != nil {
				t.Logf("setup %q: %v: %s", rest, err, out)
			}
		default:
			t.Fatalf("setup %q: unknown kind %q", item, kind)
		}
	}
	return p
}

func (p *place) write(t *testing.T, name, text string, mode fs.FileMode) {
	t.Helper()
	path := filepath.Join(p.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// command runs a text with bash in the project, with the environment that the tool adds.
func (p *place) command(t *testing.T, text string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, "bash", "-c", text)
	cmd.Dir, cmd.WaitDelay = filepath.Join(p.root, "proj"), time.Second
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.root + "/home", "TMPDIR=" + p.root + "/tmp", "GOCACHE=" + goCache(), "GOFLAGS=" + os.Getenv("GOFLAGS"), "CGO_ENABLED=" + os.Getenv("CGO_ENABLED"), "GOPROXY=off", "GIT_CONFIG_PARAMETERS='safe.bareRepository=explicit' 'core.fsmonitor=false'"}
	return cmd
}

// goCache returns the build cache of the user who runs the test, so that not every case compiles the standard library.
var goCache = sync.OnceValue(func() string {
	out, _ := exec.Command("go", "env", "GOCACHE").Output() // without Go there is nothing to cache
	return strings.TrimSpace(string(out))
})

// state returns the files outside of the project, and PWNED files anywhere.
func (p *place) state(t *testing.T) (victim, outside, pwned string) {
	t.Helper()
	data, _ := os.ReadFile(filepath.Join(p.root, "proj/victim"))
	err := filepath.WalkDir(p.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if strings.HasPrefix(d.Name(), "PWNED") {
			pwned += path + " "
		}
		if strings.HasPrefix(path, p.root+"/out/") {
			text, _ := os.ReadFile(path)
			outside += path + "=" + string(text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(data), outside, pwned
}

// hostileRules returns the rules of a case: what is allowed and denied by name, the rest asks.
func hostileRules(sets map[string][]string, allow, deny string) *permission.Rules {
	rules := permission.Defaults()
	add := func(list string, action sdk.Action) {
		if list == "-" {
			return
		}
		for pattern := range strings.SplitSeq(list, ",") {
			patterns := sets[pattern]
			if patterns == nil {
				patterns = []string{pattern}
			}
			for _, p := range patterns {
				key := "bash"
				if rest, ok := strings.CutPrefix(p, "edit:"); ok {
					key, p = "edit", rest
				}
				rules = append(rules, sdk.PermissionRule{Permission: key, Pattern: p, Action: action})
			}
		}
	}
	add(allow, sdk.ActionAllow)
	add(deny, sdk.ActionDeny)
	return permission.Compile("/home/user", rules)
}

// excused are cases that a rule means to allow: programs whose name says that they write, interpreters of a file, and a hard link, which is
// a file of the project like any other.
var excused = regexp.MustCompile(`^(touch|cp|mv|ln|install|truncate|mkfifo|mknod|mktemp|fallocate|gzip|bzip2|xz|rm) |^cat h1$|^less a$`)

// TestHostile judges hostile commands under narrow allow rules. Allowed commands run, and must do no harm.
func TestHostile(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"hostile.txt", "hostile-heldout.txt"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			sets := map[string][]string{}
			var setups []string
			judging := places{t: t, fixture: newFixture(t, "bash"), bySetup: map[string]*place{}}
			cases := 0
			for _, c := range corpus(t, file) {
				switch c[0][0] {
				case '@':
					sets[c[0]] = c[1:]
					continue
				case '%':
					setups = append(setups, "use:"+c[0][1:]+";; ", c[1]+";; ")
					continue
				}
				if cases++; strings.HasPrefix(c[0], "in-") {
					continue // there the rule itself, python3 *, is leave to run code
				}
				if testing.Short() && cases%16 != 0 {
					continue // most of the time goes to other programs, which the race detector does not see
				}
				t.Run(c[0], func(t *testing.T) {
					t.Parallel()
					if c[2] != "*" && judging.fixture.asksByItsWords(t, c[5]) {
						return
					}
					setup := strings.NewReplacer(setups...).Replace(c[4] + ";; ")
					setup = strings.TrimSuffix(setup, ";; ")
					rules := hostileRules(sets, c[2], c[3])
					if judging.judge(t, judging.of(setup), rules, c[5]).action == sdk.ActionAllow {
						judging.checkHostile(t, rules, c[1], setup, c[5])
					}
				})
			}
			if cases < 500 {
				t.Errorf("%d cases, want at least 500", cases)
			}
		})
	}
}

// asksByItsWords reports whether a command asks under every rule but *, whatever files are there.
func (f *fixture) asksByItsWords(t *testing.T, command string) bool {
	if _, err := shell.Words(command); err != nil {
		return true
	}
	_, verbatim, _ := f.decide(t, permission.Compile("", nil), command)
	return strings.Contains(verbatim, "can run or change more") || strings.HasPrefix(verbatim, "the shell's own command")
}

// places are where commands are only judged: one for each setup, which the cases share. So do they share the plugin that judges, because it
// builds the rules of the sandbox once for each place.
type places struct {
	t       *testing.T // of the corpus, because a place outlives the case that needs it first
	fixture *fixture
	mu      sync.Mutex
	bySetup map[string]*place
}

func (ps *places) of(setup string) *place {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p := ps.bySetup[setup]
	if p == nil {
		p = newPlace(ps.t, setup)
		ps.bySetup[setup] = p
	}
	return p
}

// judgement is a command with its paths in a place, what the rules say of it, and what they were asked.
type judgement struct {
	command string
	action  sdk.Action
	judged  []string
}

func (ps *places) judge(t *testing.T, p *place, rules *permission.Rules, command string) judgement {
	f := &fixture{tool: ps.fixture.tool, host: ps.fixture.host, dir: filepath.Join(p.root, "proj")}
	command = strings.ReplaceAll(command, "@R@", p.root)
	action, _, judged := f.decide(t, rules, command)
	return judgement{command, action, judged}
}

// checkHostile runs an allowed command in a new place, and compares the place before and after.
func (ps *places) checkHostile(t *testing.T, rules *permission.Rules, harm, setup, text string) {
	p := newPlace(t, setup)
	j := ps.judge(t, p, rules, text)
	command, judged := j.command, j.judged
	if j.action != sdk.ActionAllow {
		t.Fatalf("%q is allowed in one place and not in another: %q", command, judged)
	}
	victim, outside, pwned := p.state(t)
	out, _ := p.command(t, command).CombinedOutput() // whether it fails says nothing
	victim2, outside2, pwned2 := p.state(t)
	switch {
	case excused.MatchString(command), strings.HasSuffix(harm, "norun"):
	case strings.HasPrefix(harm, "ask"), pwned2 != pwned, victim != victim2, outside2 != outside, strings.Contains(string(out), "S3CRET"):
		t.Errorf("%q is allowed; judged: %q; PWNED %q, victim %q, output %.300q", command, judged, pwned2, victim2, out)
	case harm != "none":
		t.Logf("%q is allowed and did nothing; judged: %q", command, judged)
	}
}

// A command with a long word is judged in a time that grows with its length alone, as the memory shows.
func TestLongWords(t *testing.T) {
	f := newFixture(t, "") // not parallel: it measures memory
	for name, command := range map[string]string{
		"quotes": "echo " + strings.Repeat("'a'", 20_000), "a path": "rm " + strings.Repeat("a/", 30_000), "elsewhere": "cat /x" + strings.Repeat("/a", 30_000),
		"written": "echo >" + strings.Repeat("a/", 30_000), "redirections": "echo " + strings.Repeat(">a ", 30_000),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := f.tool.(sdk.ToolPreparer).Prepare(t.Context(), f.call(t, map[string]any{"command": command})); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
			t.Errorf("%s: %d bytes of a command allocated %d MiB", name, len(command), used>>20)
		}
	}
}
