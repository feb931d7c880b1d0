package shell_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/sdk"
)

// corpus returns the lines of a file in testdata that are not comments, cut at tabs; quoted fields are unquoted.
func corpus(t *testing.T, name string) (lines [][]string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(string(data), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Split(line, "\t")
		for i, f := range fields {
			if strings.HasPrefix(f, `"`) {
				if fields[i], err = strconv.Unquote(f); err != nil {
					fields[i] = f // a command may begin with a quote
				}
			}
		}
		lines = append(lines, fields)
	}
	return lines
}

// decide returns what the rules say of a command, why it is shown whole, and what was judged.
func (f *fixture) decide(t testing.TB, rules *permission.Rules, command string) (action sdk.Action, verbatim string, judged []string) {
	t.Helper()
	requests, err := f.tool.(sdk.ToolPreparer).Prepare(t.Context(), f.call(t, map[string]any{"command": command}))
	if err != nil {
		return sdk.ActionDeny, err.Error(), nil
	}
	action = sdk.ActionAllow
	for _, r := range requests {
		action = permission.Combine(action, rules.DecideRequest(permission.RequestOf(&r)).Action)
		judged = append(judged, r.Permission+" "+strings.Join(r.Patterns, ", "))
		verbatim += r.Verbatim
	}
	return action, verbatim, judged
}

// TestEveryday checks how many everyday commands ask although each of their programs is allowed by name: those outside of the grammar
// have to, of the others at most one in ten.
func TestEveryday(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"everyday.txt", "everyday-heldout.txt"} {
		f := newFixture(t, "bash")
		if out, err := exec.Command("git", "init", "-q", f.dir).CombinedOutput(); err != nil {
			t.Fatalf("git init: %v: %s", err, out)
		}
		lines := corpus(t, name)
		install(t, f.dir, lines)
		asked, outside := 0, 0
		for _, line := range lines {
			action, verbatim, judged := f.decide(t, named(line[0]), line[0])
			switch {
			case action == sdk.ActionAllow:
			case necessary.MatchString(line[0]): // have to
				outside++
			case grammatical(verbatim):
				asked++
				t.Logf("asks: %q: %s: %q", line[0], verbatim, judged)
			default:
				outside++
			}
		}
		t.Logf("%s: %d commands: %d ask, %d more are outside of the grammar", name, len(lines), asked, outside)
		if len(lines) < 300 || asked*10 > len(lines)-outside {
			t.Errorf("%s: %d of %d commands ask", name, asked, len(lines)-outside)
		}
	}
}

// necessary matches what asks whatever its words are: programs that hand their work to a daemon or gain other rights, that run code from
// their arguments, or that run other programs on names which are not in the text.
var necessary = regexp.MustCompile(`\b(docker|podman|sudo|ssh|scp|rsync|tmux|kubectl|xargs)\b|\bnode -e|\bpython3? -c|\bfind .* -exec`)

// named returns rules that allow every word of a command as the name of a program, and editing.
func named(command string) *permission.Rules {
	rules := permission.Defaults()
	allow := func(key, pattern string) {
		rules = append(rules, sdk.PermissionRule{Permission: key, Pattern: pattern, Action: sdk.ActionAllow})
	}
	allow("edit", "*")
	allow(sdk.PermissionExternalDirectory, "*")
	for _, word := range strings.Fields(command) {
		if strings.Trim(word, "*?") != "" {
			allow("bash", word+" *")
		}
	}
	return permission.Compile("/home/user", rules)
}

// grammatical reports whether a text asks for what its programs are, not for how it is written.
func grammatical(verbatim string) bool {
	return strings.Contains(verbatim, "which can run or change more") || strings.Contains(verbatim, "with an option or operand") || verbatim == ""
}

// install makes what npx would find in a project that was installed.
func install(t *testing.T, dir string, lines [][]string) {
	bin := filepath.Join(dir, "node_modules", ".bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		words := strings.Fields(line[0])
		for i, w := range words[:len(words)-1] {
			if next := words[i+1]; w == "npx" && next[0] != '-' && !strings.ContainsAny(next, "/@") {
				if err := os.WriteFile(filepath.Join(bin, next), nil, 0o755); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
