//go:build unix

package main_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/tenonhq/tenon/plugins/pins"
	"github.com/tenonhq/tenon/plugins/source/sourcetest"
)

// The number of kills for each source, and for a directory; TENON_INSTALL_KILL_ROUNDS changes both. The steps that write plugins come
// after the content of any source is fetched, and that of a directory is fetched in no time; TestGitCut cuts the fetch of a repository.
const (
	installKillRounds   = 3 // one of each command
	directoryKillRounds = 9
)

// TestInstallKilled kills install, update and rollback of a plugin at any moment. Afterwards the lock file is the old one or the new one,
// and what it names can be restored without asking and without its source.
func TestInstallKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("kills other processes, which the race detector does not see into; runs without it")
	}
	t.Parallel()
	for name, publisher := range map[string]func(k *killedInstall) (ref string, publish func(version int)){
		"directory": fromDirectory, "archive": fromArchive, "git": fromGit, "npm": fromNPM, "oci": fromOCI,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := &killedInstall{process: newProcess(t, "http://127.0.0.1:1"), t: t}
			k.dir = filepath.Join(k.work, "plugin")
			k.lock = filepath.Join(filepath.Dir(k.dataDir()), ".config", "tenon", pins.Name)
			// Children of a killed process may write for a moment after it.
			t.Cleanup(func() {
				for limit := time.Now().Add(patience); os.RemoveAll(k.dataDir()) != nil && time.Now().Before(limit); {
				}
			})
			ref, publish := publisher(k)
			rounds := installKillRounds
			if name == "directory" {
				rounds = directoryKillRounds
			}
			k.run(ref, publish, roundsOf(t, "TENON_INSTALL_KILL_ROUNDS", rounds))
		})
	}
}

// killedInstall is a machine on which commands are killed.
type killedInstall struct {
	*process
	t         *testing.T
	dir, lock string // the plugin's source; the lock file
	whole     time.Duration
}

func (k *killedInstall) run(ref string, publish func(version int), rounds int) {
	install := []string{"plugin", "install", ref, "--yes"}
	publish(0)
	begun := time.Now()
	k.output(k.t, 0, install...)
	k.whole = time.Since(begun)
	states := map[string]bool{k.state(): true, string((&pins.File{}).Encode()): true}
	for round := range rounds {
		if round%3 == 2 {
			k.kill(states, "plugin", "rollback")
			continue
		}
		publish(round + 1)
		args := install
		if round%3 == 0 {
			args = []string{"plugin", "update", "--yes"}
		}
		k.kill(nil, args...)
		states[k.state()] = true
	}
}

// kill kills a command. The lock file must be the old one, one of states, or the one that the whole command writes.
func (k *killedInstall) kill(states map[string]bool, args ...string) {
	k.t.Helper()
	before := k.state()
	k.killed(k.t, k.whole, args...)
	after := k.state()
	k.output(k.t, 0, "plugin", "sync", "--frozen", "--offline")
	k.output(k.t, 0, "plugin", "verify")
	if list, _ := k.output(k.t, 0, "plugin", "list"); strings.Contains(after, "hello") && !strings.Contains(list, "ready") {
		k.t.Fatalf("tenon %q: neither the old content nor the new one is approved:\n%s", args, list)
	}
	if after == before || states[after] {
		return
	}
	if states == nil {
		k.output(k.t, 0, args...)
	}
	if whole := k.state(); states != nil || whole != after {
		k.t.Fatalf("tenon %q: the lock file is neither old nor new: %s\nold: %s\nnew: %s", args, after, before, whole)
	}
}

func (k *killedInstall) state() string {
	k.t.Helper()
	data, err := os.ReadFile(k.lock)
	if err != nil {
		k.t.Fatal(err)
	}
	return string(data)
}

// files returns the files of a version of the plugin.
func (k *killedInstall) files(version int) map[string]string {
	number := fmt.Sprintf("1.0.%d", 10+version) // in the order of text
	return map[string]string{
		"package.json":      `{"name": "hello", "version": "` + number + `"}`,
		"plugin.json":       `{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "hello", "version": "` + number + `"}`,
		"skills/a/SKILL.md": "---\nname: a\ndescription: d\n---\n" + strings.Repeat(number, 50_000),
	}
}

// write writes a version to the directory.
func (k *killedInstall) write(version int) {
	k.t.Helper()
	for name, body := range k.files(version) {
		path := filepath.Join(k.dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(body), 0o644)); err != nil {
			k.t.Fatal(err)
		}
	}
}

func (k *killedInstall) serve(h http.Handler) (address string) {
	server := httptest.NewServer(h)
	k.t.Cleanup(server.Close)
	return server.URL
}

func fromDirectory(k *killedInstall) (string, func(int)) { return "./plugin", k.write }

func fromArchive(k *killedInstall) (string, func(int)) {
	return k.serve(http.FileServer(http.Dir(k.work))) + "/hello.tar.gz", func(version int) {
		k.write(version)
		k.output(k.t, 0, "plugin", "pack", k.dir, "-o", "hello.tar.gz")
	}
}

func fromOCI(k *killedInstall) (string, func(int)) {
	ref := "oci://" + strings.TrimPrefix(k.serve(registry.New(registry.Logger(log.New(io.Discard, "", 0)))), "http://") + "/o/hello:v1"
	return ref, func(version int) {
		k.write(version)
		k.output(k.t, 0, "plugin", "push", ref, k.dir)
	}
}

func fromNPM(k *killedInstall) (string, func(int)) {
	npm := sourcetest.NewNPM(k.t)
	k.env = append(k.env, "NPM_CONFIG_REGISTRY="+npm.URL)
	return "npm:hello", func(version int) { npm.Add(k.t, k.files(version)) }
}

func fromGit(k *killedInstall) (string, func(int)) {
	git := func(args ...string) string {
		k.t.Helper()
		cmd := exec.CommandContext(k.t.Context(), "git", append([]string{"-C", k.work, "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"}, args...)...)
		cmd.Env = append(os.Environ(), "HOME="+k.work, "GIT_CONFIG_NOSYSTEM=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			k.t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q", k.dir)
	address := k.serve(&cgi.Handler{
		Path: filepath.Join(git("--exec-path"), "git-http-backend"), Env: []string{"GIT_PROJECT_ROOT=" + k.work, "GIT_HTTP_EXPORT_ALL=1", "HOME=" + k.work},
		Stderr: io.Discard,
	})
	return "git+" + address + "/plugin/.git", func(version int) {
		k.write(version)
		git("-C", k.dir, "add", ".")
		git("-C", k.dir, "commit", "-qm", "a version")
	}
}
