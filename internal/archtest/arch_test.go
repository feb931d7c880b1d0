package archtest

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

const root = "../.."

// rules returns all rules by the names of their fixtures.
func rules() map[string]func(*Module) []Violation {
	return map[string]func(*Module) []Violation{
		"imports":      Imports,
		"libraries":    Libraries,
		"length":       Length,
		"init":         Init,
		"context":      Places,
		"logging":      Logging,
		"sleep":        Sleep,
		"exit":         Places,
		"projectfiles": Places,
		"places":       Places,
		"packagenames": PackageNames,
		"panics":       Panics,
		"packagedocs":  PackageDocs,
		"leakchecks":   LeakChecks,
		"docs":         Docs,
		"wording":      Wording,
	}
}

// The module keeps its own rules.
func TestModule(t *testing.T) {
	t.Parallel()
	m, err := Load(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	if m.Path != "github.com/tenonhq/tenon" || len(m.Files) < 100 {
		t.Fatalf("read %d files of %q, which is not this module", len(m.Files), m.Path)
	}
	for name, check := range rules() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, v := range check(m) {
				t.Error(v)
			}
		})
	}
}

// Every rule finds what breaks it, and nothing else. The comment of a fixture lists the violations, one a line.
func TestRulesCanFail(t *testing.T) {
	t.Parallel()
	for name, check := range rules() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile("testdata/" + name + ".txtar")
			if err != nil {
				t.Fatal(err)
			}
			fsys := fstest.MapFS{"go.mod": {Data: []byte("module github.com/tenonhq/tenon\n")}}
			for _, f := range archive.Files {
				fsys[f.Name] = &fstest.MapFile{Data: lengthen(f.Data)}
			}
			m, err := Load(fsys)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, v := range check(m) {
				got = append(got, v.String())
			}
			want := strings.Split(strings.TrimSpace(string(archive.Comment)), "\n")
			slices.Sort(got)
			slices.Sort(want)
			if len(want) < 2 {
				t.Errorf("the fixture expects %d violations; show more than one way to break the rule", len(want))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}

// lengthen replaces the line "LINES n" by n comment lines, so that fixtures of long files are short.
func lengthen(data []byte) []byte {
	return regexp.MustCompile(`(?m)^LINES 600\n`).ReplaceAllLiteral(data, []byte(strings.Repeat("// line\n", 600)))
}

func TestEveryFixtureHasARule(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name := strings.TrimSuffix(e.Name(), ".txtar"); rules()[name] == nil {
			t.Errorf("testdata/%s belongs to no rule", e.Name())
		}
	}
}

// What the README tells a reader to run is what CI runs, and CI builds the sdk for plugins in WASM.
func TestCI(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(root + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(root + "/.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	// Text that is printed or explained is not run.
	script = regexp.MustCompile(`(?m)^\s*(#|step ).*$`).ReplaceAllLiteral(script, nil)
	command := regexp.MustCompile(`(?m)^(?:\$ )?(.*\bgo test .*)$`).FindSubmatch(readme)
	if command == nil {
		t.Fatal("README.md has no line with the command that passes the tests")
	}
	for _, want := range []string{string(command[1]), "GOOS=wasip1 GOARCH=wasm go build ./sdk ./sdk/guest ./sdk/wasm", "go build -o \"$scratch/lint\" ./internal/lint", "\"$scratch/lint\" -known \"$known\" -targets $targets ./...", "gofmt -l"} {
		if !strings.Contains(string(script), strings.TrimSpace(want)) {
			t.Errorf(".ci/run does not run %q", want)
		}
	}
	for _, target := range []string{"linux", "darwin", "windows", "amd64", "arm64"} {
		if !strings.Contains(string(script), target) {
			t.Errorf(".ci/run does not build for %s", target)
		}
	}
}
