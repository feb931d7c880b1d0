// Command testdeps installs npm packages for tests: those of every package-lock.json below the working directory, with the versions and
// checksums in the lock file. It skips directories whose packages are installed. The tests themselves need no network.
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
)

const lockFile = "package-lock.json"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := install(ctx, "."); err != nil {
		fmt.Fprintln(os.Stderr, "testdeps:", err)
		os.Exit(1)
	}
}

// install installs the packages of each lock file below root, all in parallel, because npm mostly waits for the registry.
func install(ctx context.Context, root string) error {
	var running []*exec.Cmd
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.IsDir() || d.Name() != lockFile:
			return nil
		}
		dir := filepath.Dir(path)
		fresh, err := installed(dir)
		if err != nil || fresh {
			return err
		}
		cmd, err := npm(ctx, dir)
		if err == nil {
			running = append(running, cmd)
		}
		return err
	})
	for _, cmd := range running {
		if failed := cmd.Wait(); failed != nil {
			err = errors.Join(err, fmt.Errorf("npm ci in %s: %w", cmd.Dir, failed))
		}
	}
	return err
}

// installed reports whether npm has installed the packages of the lock file. npm leaves a copy of the lock file when it has.
func installed(dir string) (bool, error) {
	lock, err := os.Stat(filepath.Join(dir, lockFile))
	if err != nil {
		return false, err
	}
	done, err := os.Stat(filepath.Join(dir, "node_modules", ".package-lock.json"))
	if err != nil {
		return false, nil
	}
	return !done.ModTime().Before(lock.ModTime()), nil
}

// npm starts the installation in a directory. The caller waits for it.
func npm(ctx context.Context, dir string) (*exec.Cmd, error) {
	path, err := exec.LookPath("npm")
	if err != nil {
		return nil, fmt.Errorf("%s: %w; install Node.js 20 or newer", dir, err)
	}
	fmt.Fprintln(os.Stderr, "testdeps: npm ci in", dir)
	cmd := exec.CommandContext(ctx, path, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, os.Stderr, os.Stderr
	return cmd, cmd.Start()
}
