package main_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// suites are the runs of the official conformance suite. requirements runs exactly what a revision of the protocol requires.
var suites = []struct {
	name, version, requirements string
	scenarios                   int // at least this many of the required scenarios must have run
}{
	{"0.1.16", "conformance-latest", "", 26},
	{"0.2.0-alpha.12, 2025-11-25", "conformance-alpha", "2025-11-25", 18},
	{"0.2.0-alpha.12, 2026-07-28", "conformance-alpha", "2026-07-28", 32},
}

// The client passes the official conformance suite, except for the scenarios in testdata/conformance/expected.txt.
func TestConformance(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs the command 150 times")
	}
	expected := expectedFailures(t)
	client := buildClient(t)
	for _, s := range suites {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			ran, passed, failed := 0, 0, 0
			for name, r := range runSuite(t, client, s.version, s.requirements) {
				reason, listed := expected.of(name)
				switch {
				case r.passed+len(r.failed) == 0 && listed:
					continue
				case len(r.failed) > 0 && !listed:
					t.Errorf("%s: %d checks passed, %d failed:\n  %s\n%s", name, r.passed, len(r.failed), strings.Join(r.failed, "\n  "), r.output)
				case len(r.failed) == 0 && listed && expected[name] != "": // of a group, some may pass
					t.Errorf("%s passes, but is listed: %s", name, reason)
				}
				ran++
				passed, failed = passed+r.passed, failed+len(r.failed)
				t.Logf("%s: %d passed, %d failed", name, r.passed, len(r.failed))
			}
			t.Logf("%d scenarios: %d checks passed, %d failed", ran, passed, failed)
			if ran < s.scenarios {
				t.Errorf("%d scenarios ran, want at least %d", ran, s.scenarios)
			}
		})
	}
}

// expectations are the reasons for the failures of scenarios, by scenario or pattern.
type expectations map[string]string

func expectedFailures(t *testing.T) expectations {
	t.Helper()
	f, err := os.Open("testdata/conformance/expected.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := expectations{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, _ := strings.Cut(line, " ")
		if reason = strings.TrimSpace(reason); reason == "" {
			t.Errorf("%s has no reason", name)
		}
		out[name] = reason
	}
	return out
}

func (e expectations) of(scenario string) (reason string, listed bool) {
	for pattern, reason := range e {
		if ok, err := path.Match(pattern, scenario); err == nil && ok {
			return reason, true
		}
	}
	return "", false
}

// outcome is what the suite found in one scenario.
type outcome struct {
	passed int
	failed []string
	output string // of the client
}

// browserSuffix ends the path of the suite's client as the user's browser.
const browserSuffix = "-browser"

// buildClient builds the suite's client and returns its path.
func buildClient(t *testing.T) string {
	t.Helper()
	client := filepath.Join(t.TempDir(), "conformance-client")
	if out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", client, "./testdata/conformanceclient").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	must(t, os.Symlink(client, client+browserSuffix))
	return client
}

// runSuite runs all scenarios with the client and returns their outcomes by name.
func runSuite(t *testing.T, client, version, requirements string) map[string]outcome {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatalf("the tests need node: %v", err)
	}
	suite, err := filepath.Abs(filepath.Join("testdata/conformance/node_modules", version, "dist/index.js"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(suite); err != nil {
		t.Fatalf("%v; install it: go run ./internal/testdeps", err)
	}
	shim, err := filepath.Abs("testdata/conformance/node20.mjs")
	if err != nil {
		t.Fatal(err)
	}
	out, slots := t.TempDir(), t.TempDir()
	args := []string{"--import", shim, suite, "client", "--command", client, "--timeout", "120000", "--output-dir", out}
	if requirements == "" {
		args = append(args, "--suite", "all")
	} else {
		args = append(args, "--requirements", requirements)
	}
	cmd := exec.CommandContext(t.Context(), node, args...)
	cmd.Env = append(os.Environ(), "TENON_CONFORMANCE_SLOTS="+slots, "BROWSER="+client+browserSuffix)
	text, err := cmd.CombinedOutput() // the exit code only says whether a check failed
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	results, err := outcomes(out)
	if err != nil || len(results) == 0 {
		t.Fatalf("no results: %v\n%s", err, text)
	}
	return results
}

// outcomes reads the results of all scenarios: a folder "auth/name-2026-11-22T…" each.
func outcomes(dir string) (map[string]outcome, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	if err != nil {
		return nil, err
	}
	nested, err := filepath.Glob(filepath.Join(dir, "*", "*", "checks.json"))
	if err != nil {
		return nil, err
	}
	out := map[string]outcome{}
	for _, file := range append(files, nested...) {
		raw, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var checks []struct{ ID, Status, ErrorMessage string }
		if err := json.Unmarshal(raw, &checks); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		var r outcome
		for _, c := range checks {
			switch c.Status {
			case "SUCCESS":
				r.passed++
			case "FAILURE":
				r.failed = append(r.failed, c.ID+": "+c.ErrorMessage)
			}
		}
		slices.Sort(r.failed)
		for _, log := range []string{"stdout.txt", "stderr.txt"} {
			text, _ := os.ReadFile(filepath.Join(filepath.Dir(file), log))
			r.output += string(text)
		}
		out[scenarioOf(dir, filepath.Dir(file))] = r
	}
	return out, nil
}

// scenarioOf returns the name of a scenario from the folder of its results, which ends in a time.
func scenarioOf(dir, folder string) string {
	rel, err := filepath.Rel(dir, folder)
	if err != nil {
		return folder
	}
	name := filepath.ToSlash(rel)
	if at := len(name) - len("-2026-01-02T03-04-05-678Z"); at > 0 {
		return name[:at]
	}
	return name
}
