package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// keyOf returns a function that returns the key of a package for a target: a hash of everything that its problems depend on, which is this
// program, the files of the package, and those of the packages that it imports.
func keyOf(target string) (func(*packages.Package) (string, error), error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	start := sha256.New()
	if err := addFile(start, program); err != nil {
		return nil, err
	}
	fmt.Fprintln(start, runtime.GOOS, target)
	keys := map[*packages.Package]string{}
	var key func(p *packages.Package) (string, error)
	key = func(p *packages.Package) (string, error) {
		if keys[p] != "" {
			return keys[p], nil
		}
		h := sha256.New()
		fmt.Fprintf(h, "%x %s\n", start.Sum(nil), p.ID)
		if p.Module != nil {
			fmt.Fprintln(h, p.Module.GoVersion)
		}
		for _, name := range slices.Concat(p.GoFiles, p.OtherFiles, p.IgnoredFiles) {
			fmt.Fprintln(h, filepath.Base(name))
			if err := addFile(h, name); err != nil {
				return "", err
			}
		}
		var imports []string
		for path, i := range p.Imports {
			k, err := key(i)
			if err != nil {
				return "", err
			}
			imports = append(imports, path+" "+k)
		}
		slices.Sort(imports)
		fmt.Fprintln(h, strings.Join(imports, "\n"))
		keys[p] = hex.EncodeToString(h.Sum(nil))
		return keys[p], nil
	}
	return key, nil
}

// addFile adds a file's own hash, so that no two files have the same sum as others that are divided elsewhere.
func addFile(h hash.Hash, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	content := sha256.New()
	if _, err := io.Copy(content, f); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	fmt.Fprintf(h, "%x\n", content.Sum(nil))
	return nil
}

// withoutProblems is a file with the keys of packages, one a line; empty: none is kept. Those who write it do not wait for each other: a part of a
// key is the key of no package.
type withoutProblems string

// keysFile returns the file in dir for a target and the patterns of packages; empty without dir.
func keysFile(dir, target string, patterns []string) withoutProblems {
	if dir == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(target + " " + strings.Join(patterns, " ")))
	return withoutProblems(filepath.Join(dir, hex.EncodeToString(sum[:8])))
}

// read returns the keys, none if the file is missing.
func (w withoutProblems) read() map[string]bool {
	content, _ := os.ReadFile(string(w))
	keys := map[string]bool{}
	for key := range strings.SplitSeq(string(content), "\n") {
		keys[key] = true
	}
	return keys
}

func (w withoutProblems) write(keys []string) error {
	if w == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(string(w)), 0o700); err != nil {
		return err
	}
	return os.WriteFile(string(w), []byte(strings.Join(keys, "\n")), 0o600)
}
