// Package moduletest builds the examples as their authors' copies are built: outside of this repository, as modules.
package moduletest

import (
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"github.com/tenonhq/tenon/plugins/manifest"
)

// TestOutside copies each example to an empty directory, and tests and builds it there. internal/lint has looked at it with what go vet finds. Modules come from a proxy that has this
// working tree as the version of tenon that the examples require, and from the modules that are downloaded already.
func TestOutside(t *testing.T) {
	t.Parallel()
	modules, err := filepath.Glob("../*/go.mod")
	if err != nil || len(modules) == 0 {
		t.Fatalf("no examples found: %v", err)
	}
	cache, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	downloads := filepath.Join(strings.TrimSpace(string(cache)), "cache", "download") // is laid out as a proxy too
	env := append(os.Environ(), "GOENV=off", "GOWORK=off", "GOFLAGS="+os.Getenv("GOFLAGS")+" -trimpath -modcacherw", "GONOSUMDB=*", "GOMODCACHE="+t.TempDir(),
		"GOPROXY="+address(proxy(t, required(t, modules)))+","+address(downloads))
	for _, mod := range modules {
		source := filepath.Dir(mod)
		t.Run(filepath.Base(source), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(source)); err != nil {
				t.Fatal(err)
			}
			p, err := manifest.ReadUnbuilt(dir)
			if err != nil {
				t.Fatal(err)
			}
			build := p.Description.Build
			run(t, dir, env, nil, "go", "mod", "tidy")
			run(t, dir, env, nil, "go", "test", "./...")
			run(t, dir, env, build.Env, build.Command...)
			if p, err = manifest.Read(dir); err != nil || len(p.Warnings) > 0 {
				t.Errorf("the built package: %v, warnings %q", err, p.Warnings)
			}
		})
	}
}

func address(dir string) string {
	return "file:///" + strings.TrimPrefix(filepath.ToSlash(dir), "/")
}

// required returns the version of tenon that the modules require, without replacing it.
func required(t *testing.T, modules []string) module.Version {
	t.Helper()
	var version module.Version
	for _, name := range modules {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := modfile.Parse(name, data, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Require) != 1 || len(f.Replace) > 0 {
			t.Fatalf("%s: want one requirement and no replacement", name)
		}
		if version.Path != "" && f.Require[0].Mod != version {
			t.Fatalf("%s requires %s, other examples %s", name, f.Require[0].Mod, version)
		}
		version = f.Require[0].Mod
	}
	return version
}

// proxy returns a directory with the working tree as a version of a module, in the form that GOPROXY reads.
func proxy(t *testing.T, version module.Version) string {
	t.Helper()
	dir := t.TempDir()
	versions := filepath.Join(dir, filepath.FromSlash(version.Path), "@v")
	if err := os.MkdirAll(versions, 0o700); err != nil {
		t.Fatal(err)
	}
	info, err := json.Marshal(map[string]string{"Version": version.Version})
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{".info": info, ".mod": mod} {
		if err := os.WriteFile(filepath.Join(versions, version.Version+name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := os.Create(filepath.Join(versions, version.Version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	if err := zip.Create(out, version, sources(t)); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// sources returns the files of this module, without installed npm packages, hidden directories and modules in it.
func sources(t *testing.T) (files []zip.File) {
	t.Helper()
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || name == ".":
			return err
		case d.IsDir():
			_, err := fs.Stat(root, path.Join(name, "go.mod"))
			if err == nil || d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") {
				return fs.SkipDir
			}
		case d.Type().IsRegular():
			files = append(files, file{root, name})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// file is a file of the working tree.
type file struct {
	root fs.FS
	name string
}

func (f file) Path() string                 { return f.name }
func (f file) Lstat() (os.FileInfo, error)  { return fs.Stat(f.root, f.name) }
func (f file) Open() (io.ReadCloser, error) { return f.root.Open(f.name) }

func run(t *testing.T, dir string, env []string, more map[string]string, command ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir, cmd.Env = dir, env
	for name, value := range more {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
	}
}
