//go:build unix

package child_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tenonhq/tenon/internal/child"
)

// TestTemporaryStaysInside: a command may put a link in place of its temporary directory, or in it. Nothing is created where it leads.
func TestTemporaryStaysInside(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	packages := filepath.Join(t.TempDir(), "_cacache")
	linked, inside := filepath.Join(dir, "linked"), filepath.Join(dir, "inside")
	if err := os.Symlink(outside, linked); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, temp := range []string{linked, inside} {
		child.Temporary(nil, temp, []string{packages})
	}
	if list, err := os.ReadDir(outside); err != nil || len(list) > 0 {
		t.Errorf("created behind the link: %v, %v", list, err)
	}
	if target, err := os.Readlink(filepath.Join(inside, "npm", "_cacache")); err != nil || target != packages {
		t.Errorf("npm's packages are not shared: %q, %v", target, err)
	}
}

func TestTemporaryEnvironment(t *testing.T) {
	t.Parallel()
	temp, caches := filepath.Join(t.TempDir(), "temp"), "/home/me/.gradle/caches"
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	env := child.Temporary([]string{"A=1", "TMPDIR=/x", "JAVA_TOOL_OPTIONS=-Xmx1g", "GRADLE_USER_HOME=/home/me/.gradle", "NPM_CONFIG_CACHE=/y"}, temp, []string{"/home/me/caches", caches})
	slices.Sort(env)
	want := []string{
		"A=1", "BUNDLE_USER_HOME=" + temp + "/bundle", "COMPOSER_HOME=" + temp + "/composer", "DENO_DIR=" + temp + "/deno", "GRADLE_USER_HOME=" + temp + "/gradle", "HF_TOKEN_PATH=" + temp + "/huggingface", "JAVA_TOOL_OPTIONS=-Xmx1g -Djava.io.tmpdir=" + temp, "TMPDIR=" + temp,
		"UV_CACHE_DIR=" + temp + "/uv", "npm_config_cache=" + temp + "/npm", "npm_config_update_notifier=false",
	}
	if !slices.Equal(env, want) {
		t.Errorf("environment %q, want %q", env, want)
	}
	if target, err := os.Readlink(temp + "/gradle/caches"); err != nil || target != caches {
		t.Errorf("Gradle's caches are not shared: %q, %v", target, err)
	}
}
