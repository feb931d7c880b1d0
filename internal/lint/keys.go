package main

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/tenonhq/tenon/internal/atomicfile"
)

// keyOf returns a function that returns the key of a package for a target: a hash of everything that its problems depend on, which is this
// program, the files of the package, and those of the packages that it imports.
func keyOf(target string) (func(*packages.Package) (string, error), error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	own, err := sumOf(program)
	if err != nil {
		return nil, err
	}
	keys := map[*packages.Package]string{}
	var key func(p *packages.Package) (string, error)
	key = func(p *packages.Package) (string, error) {
		if keys[p] != "" {
			return keys[p], nil
		}
		parts := []string{own, runtime.GOOS, target, p.ID}
		if p.Module != nil {
			parts = append(parts, p.Module.GoVersion)
		}
		for _, name := range slices.Concat(p.GoFiles, p.OtherFiles, p.IgnoredFiles) {
			sum, err := sumOf(name)
			if err != nil {
				return "", err
			}
			parts = append(parts, filepath.Base(name)+" "+sum)
		}
		for _, path := range slices.Sorted(maps.Keys(p.Imports)) {
			sum, err := key(p.Imports[path])
			if err != nil {
				return "", err
			}
			parts = append(parts, path+" "+sum)
		}
		sum := sha256.Sum256([]byte(strings.Join(parts, "\n")))
		keys[p] = hex.EncodeToString(sum[:])
		return keys[p], nil
	}
	return key, nil
}

// sumOf returns the hash of a file.
func sumOf(name string) (string, error) {
	content, err := os.ReadFile(name)
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), err
}

// withoutProblems is the path of a file with the keys of packages, one a line. If empty, no keys are kept.
type withoutProblems string

// keysFile returns the file in dir for a target and the patterns of packages, or "" if dir is empty.
func keysFile(dir, target string, patterns []string) withoutProblems {
	if dir == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(target + " " + strings.Join(patterns, " ")))
	return withoutProblems(filepath.Join(dir, hex.EncodeToString(sum[:8])))
}

// read returns the keys, or none if the file is missing.
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
	return atomicfile.Write(string(w), []byte(strings.Join(keys, "\n")), atomicfile.Options{MakeDirs: 0o700})
}
