package ignore_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/builtin/tools/search/ignore"
)

// names and pieces are few, so that random patterns meet random files often; the odd pieces try the
// corners of the syntax.
var (
	names  = []string{"a", "b", "ab", "abc", "a.go", "b.go", ".x", "a b", "A", "build", "{a}", "a-b"}
	pieces = []string{"a", "b", "ab", "*", "*", "?", "/", "/", "/", ".go", "build", "/**/", "/**", "[ab]"}
	odd    = []string{"[a-c]", `\a`, `\*`, " ", `\ `, "-", ".", "{a}", "{a,b}", `\{a\}`, `\/`, "[\\]a]", "#", "!", `\#`}
)

func TestWalkAgreesWithGit(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	rounds := 30
	if testing.Short() {
		rounds = 5
	}
	for seed := range rounds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			git(t, root, "init", "-q")
			rnd := rand.New(rand.NewPCG(uint64(seed), 1))
			randomTree(t, rnd, root, 3)
			if seed%3 == 0 {
				write(t, filepath.Join(root, ".git", "info", "exclude"), randomRules(rnd))
			}
			out := git(t, root, "-c", "core.quotepath=off", "ls-files", "-z", "--others", "--exclude-standard")
			want := strings.FieldsFunc(out, func(r rune) bool { return r == 0 })
			slices.Sort(want)
			if diff := cmp.Diff(want, files(t, root, root)); diff != "" {
				t.Errorf("files (-git +walk):\n%s\n%s", diff, dump(t, root))
			}
		})
	}
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "XDG_CONFIG_HOME=/nowhere", "HOME=/nowhere")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %q: %v: %s", args, err, stderr.Bytes())
	}
	return string(out)
}

func randomTree(t *testing.T, rnd *rand.Rand, dir string, depth int) {
	t.Helper()
	if rnd.IntN(3) > 0 || depth == 3 {
		write(t, filepath.Join(dir, ".gitignore"), randomRules(rnd))
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		switch {
		case rnd.IntN(3) == 0:
		case depth > 0 && rnd.IntN(3) == 0:
			if err := os.Mkdir(path, 0o755); err != nil {
				continue // a and A may be one here
			}
			randomTree(t, rnd, path, depth-1)
		default:
			write(t, path, "")
		}
	}
}

func randomRules(rnd *rand.Rand) string {
	var b strings.Builder
	for range 1 + rnd.IntN(4) {
		if rnd.IntN(4) == 0 {
			b.WriteString("!")
		}
		b.WriteString([]string{"/", "**/", "", "", ""}[rnd.IntN(5)])
		for range 1 + rnd.IntN(3) {
			from := pieces
			if rnd.IntN(6) == 0 {
				from = odd
			}
			b.WriteString(from[rnd.IntN(len(from))])
		}
		if rnd.IntN(4) == 0 {
			b.WriteString("/")
		}
		b.WriteString([]string{"\n", "\r\n", "  \n"}[rnd.IntN(3)])
	}
	return strings.ReplaceAll(b.String(), "//", "/")
}

// files returns the sorted files that Walk visits, relative to root.
func files(t *testing.T, root, top string) []string {
	t.Helper()
	got := []string{}
	if _, err := walk(t, context.Background(), root, top, func(e ignore.Entry) error {
		if !e.IsDir() {
			got = append(got, e.Rel)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	return got
}

func dump(t *testing.T, root string) string {
	t.Helper()
	var b strings.Builder
	for _, pattern := range []string{".gitignore", "*/.gitignore", "*/*/.gitignore", "*/*/*/.gitignore", ".git/info/exclude"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s: %q\n", strings.TrimPrefix(path, root), content)
		}
	}
	return b.String()
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
