//go:build unix

package shell_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenonhq/tenon/sdk"
)

// stubs are the commands that generated scripts can run: each does nothing.
var stubs = []string{"ls", "cat", "rm", "touch", "tee", "alpha", "beta"}

// scratch is an empty project beside a directory of harmless commands, the only one on the PATH.
func scratch(t testing.TB) (dir, bin string) {
	root := t.TempDir()
	dir, bin = filepath.Join(root, "project"), filepath.Join(root, "bin")
	for _, d := range []string{dir, bin} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range stubs {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// What runs other commands runs them here, too.
	for name, script := range map[string]string{
		"sh": `exec BASH -x "$@"`, "bash": `exec BASH -x "$@"`, "env": `exec "$@"`, "nice": `exec "$@"`, "nohup": `exec "$@"`, "timeout": `shift; exec "$@"`,
	} {
		text := "#!/bin/sh\n" + strings.ReplaceAll(script, "BASH", bashPath(t)) + "\n"
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir, bin
}

func bashPath(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// traced runs a text and returns the commands that bash -x shows.
func traced(t testing.TB, text, dir, bin string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, bashPath(t), "--norc", "--noprofile", "-x", "-c", text)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + bin, "HOME=" + bin, "LC_ALL=C"}
	cmd.WaitDelay = time.Second
	out, _ := cmd.CombinedOutput() // most texts fail somewhere
	var commands []string
	for line := range strings.SplitSeq(string(out), "\n") {
		rest := strings.TrimLeft(line, "+")
		if command, ok := strings.CutPrefix(rest, " "); ok && rest != line {
			commands = append(commands, command)
		}
	}
	return commands
}

// checkAgainstBash holds that what bash runs, and what it writes, was judged: by its name, or as unjudged.
func checkAgainstBash(t *testing.T, text string) {
	dir, bin := scratch(t)
	f := newFixture(t, "bash")
	f.dir = dir
	requests, err := f.tool.(sdk.ToolPreparer).Prepare(t.Context(), f.call(t, map[string]any{"command": text}))
	if err != nil {
		return
	}
	var judged []string // commands without quotes
	var written []string
	for _, r := range requests {
		for _, p := range r.Patterns {
			if strings.HasPrefix(p, "unjudged: ") {
				return // it asks: nothing is claimed
			}
			judged = append(judged, p)
		}
		for _, i := range r.Implied {
			if i.Permission == "edit" {
				written = append(written, i.Pattern)
			} else {
				judged = append(judged, i.Pattern)
			}
		}
	}
	for _, command := range traced(t, text, dir, bin) {
		name, _, _ := strings.Cut(command, " ")
		name = strings.Trim(name, "'")
		if !slices.Contains(stubs, name) {
			continue
		}
		if !slices.ContainsFunc(judged, func(p string) bool { return p == name || strings.HasPrefix(p, name+" ") }) {
			t.Fatalf("%q runs %q, judged were %q", text, command, judged)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains(written, e.Name()) {
			t.Fatalf("%q writes %q, judged were %q", text, e.Name(), written)
		}
	}
}

// FuzzAgainstBash compares what is judged of a generated script with what bash does.
func FuzzAgainstBash(f *testing.F) {
	for seed := range uint64(60) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		g := &generator{rand.New(rand.NewPCG(seed, 1))}
		checkAgainstBash(t, g.script(4))
	})
}

// TestHiddenAgainstBash runs the collection of hidden commands where they can do no harm.
func TestHiddenAgainstBash(t *testing.T) {
	t.Parallel()
	for _, text := range hiddenCommands() {
		if strings.Contains(text, "/bin/") || strings.Contains(text, "/tmp") || strings.Contains(text, "/dev/tcp") || strings.Contains(text, "exec > ") {
			continue
		}
		checkAgainstBash(t, text)
	}
}

// generator makes scripts.
type generator struct{ *rand.Rand }

func (g *generator) one(choices ...string) string { return choices[g.IntN(len(choices))] }

func (g *generator) word() string {
	return g.one("a", "b1", "x-y", "'q r'", "\"d\"", "$'\\x41'", "$V", "~", "\\;")
}

func (g *generator) simple() string {
	name := g.one(stubs...)
	switch g.IntN(8) {
	case 0:
		name = "'" + name + "'"
	case 1:
		name = name[:1] + "\\\n" + name[1:]
	case 2:
		name = name[:1] + "\\" + name[1:]
	case 3:
		name = "$'\\x" + fmt.Sprintf("%x", name[0]) + "'" + name[1:]
	case 4:
		name = name[:1] + "\"" + name[1:] + "\""
	}
	out := name
	for range g.IntN(3) {
		out += " " + g.word()
	}
	if g.IntN(3) == 0 {
		out += " " + g.one(">", ">>", "2>", "&>", ">|", "<>") + g.one("", " ") + g.one("f1", "'f2'", "f\\3", "$'f4'")
	}
	return out
}

func (g *generator) quoted(script string) string {
	return "'" + strings.ReplaceAll(script, "'", `'\''`) + "'"
}

// script returns a script with at most this many levels.
func (g *generator) script(depth int) string {
	if depth <= 0 {
		return g.simple()
	}
	in := func() string { return g.script(depth - 1 - g.IntN(2)) }
	switch g.IntN(22) {
	case 0:
		return in() + g.one("; ", " && ", " || ", " | ", "\n", " & ") + in()
	case 1:
		return "alpha $(" + in() + "\n) x"
	case 2:
		return "alpha \"$(" + in() + "\n)\""
	case 3:
		return "{ " + in() + "\n} > g1"
	case 4:
		return "(" + in() + "\n)"
	case 5:
		return "bash -c " + g.quoted(in())
	case 6:
		return "sh -ec " + g.quoted(in())
	case 7:
		return "eval " + g.quoted(in())
	case 8:
		return g.one("env", "nice", "nohup", "timeout 5", "command", "exec", "builtin command", "time") + " " + g.simple()
	case 9:
		return "bash <<'EOF" + fmt.Sprint(depth) + "'\n" + in() + "\nEOF" + fmt.Sprint(depth) + "\n"
	case 10:
		return "bash <<< " + g.quoted(in())
	case 11:
		return "if " + in() + "\nthen " + in() + "\nelse " + in() + "\nfi"
	case 12:
		return "for i in 1 2; do " + in() + "\ndone"
	case 13:
		return "f() { " + in() + "\n}; f"
	case 14:
		return "trap " + g.quoted(in()) + " EXIT"
	case 15:
		return "case a in a) " + in() + "\n;; esac"
	case 16:
		return "cat <(" + in() + "\n)"
	case 17:
		return "alpha ${V:-$(" + in() + "\n)}"
	case 18:
		return "cat <<E" + fmt.Sprint(depth) + "\n$(" + in() + "\n)\nE" + fmt.Sprint(depth) + "\n"
	case 19:
		return "! " + in() + "\n"
	case 20:
		return g.one("{rm,x}", "{touch,a,b}", "al\\pha y", "V=1 beta") + "; " + in()
	}
	return in()
}
