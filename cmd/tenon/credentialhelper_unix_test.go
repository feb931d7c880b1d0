//go:build unix

package main_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCredentialHelperOfTheProject: while PATH has a directory of the project, the credential helper that the user's Docker names does not come from
// there, and neither do the programs that the helper starts.
func TestCredentialHelperOfTheProject(t *testing.T) {
	t.Parallel()
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="r"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(registry.Close)
	p := newProcess(t, registry.URL)
	config, system, project := t.TempDir(), t.TempDir(), filepath.Join(p.work, ".venv", "bin")
	started := filepath.Join(config, "started")
	script := func(text string) []byte { return []byte("#!/bin/sh\necho " + text + " >>'" + started + "'\n") }
	if err := errors.Join(os.Mkdir(filepath.Join(p.work, ".git"), 0o755), os.MkdirAll(project, 0o755),
		os.WriteFile(filepath.Join(config, "config.json"), []byte(`{"credsStore": "test"}`), 0o600),
		os.WriteFile(filepath.Join(system, "docker-credential-test"), append(script("own"), "pass\n"...), 0o700),
		os.WriteFile(filepath.Join(system, "pass"), script("own-pass"), 0o700),
		os.WriteFile(filepath.Join(project, "docker-credential-test"), script("project"), 0o700),
		os.WriteFile(filepath.Join(project, "pass"), script("project-pass"), 0o700)); err != nil {
		t.Fatal(err)
	}
	p.env = append(p.env, "DOCKER_CONFIG="+config, "PATH="+strings.Join([]string{project, system, os.Getenv("PATH")}, string(filepath.ListSeparator)))
	plugin, ref := filepath.Join(config, "plugin"), "oci://"+strings.TrimPrefix(registry.URL, "http://")+"/o/p:v1"
	if err := errors.Join(os.MkdirAll(filepath.Join(plugin, "commands"), 0o755), os.Mkdir(filepath.Join(plugin, ".claude-plugin"), 0o755),
		os.WriteFile(filepath.Join(plugin, "commands", "c.md"), []byte("Hello."), 0o600),
		os.WriteFile(filepath.Join(plugin, ".claude-plugin", "plugin.json"), []byte(`{"name": "p"}`), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"install", ref}, {"push", ref, plugin}} {
		p.output(t, 1, append([]string{"plugin"}, args...)...)
		if got, err := os.ReadFile(started); err != nil || string(got) != "own\nown-pass\n" {
			t.Errorf("%s started: %q, %v", args[0], got, err)
		}
		if err := os.Remove(started); err != nil {
			t.Fatal(err)
		}
	}
}
