package sourcetest

import (
	"archive/zip"
	"bytes"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// AddModule publishes a version of a Go module in a directory that works as a file:// proxy,
// see https://go.dev/ref/mod#goproxy-protocol.
func AddModule(t testing.TB, proxy, module, version string, files map[string]string) {
	t.Helper()
	dir := filepath.Join(proxy, filepath.FromSlash(module), "@v")
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := w.Create(module + "@" + version + "/" + name)
		if err == nil {
			_, err = f.Write([]byte(files[name]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), os.MkdirAll(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile(filepath.Join(dir, "list"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"list": string(list) + version + "\n", version + ".mod": files["go.mod"], version + ".zip": b.String(),
		version + ".info": `{"Version":"` + version + `","Time":"2026-01-02T03:04:05Z"}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// GoBuilds returns the directory in which the go command keeps compiled packages: tests need not compile the standard library again.
func GoBuilds(t testing.TB) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// GoEnviron returns an environment in which the go command takes modules from a file:// proxy alone. The checksum database does not know
// them.
func GoEnviron(proxy string) []string {
	environ := slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "GO") })
	return append(environ, "GOPROXY=file://"+filepath.ToSlash(proxy), "GONOSUMDB=*", "GOSUMDB=off")
}
