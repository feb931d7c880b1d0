package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// ignored asks git of each path, relative to a working tree with slashes, whether it ignores it. No directory above a path may be ignored.
func (r *Repo) ignored(ctx context.Context, worktree string, paths []string) ([]bool, error) {
	var more []string
	if list, _ := excludes(worktree); list != "" {
		more = []string{"core.excludesFile=" + list}
	}
	in := []byte("./" + strings.Join(paths, "\x00./") + "\x00")
	args := []string{"-C", worktree, "--work-tree", worktree, "check-ignore", "--no-index", "--stdin", "-z", "--verbose", "--non-matching"}
	answer, err := r.run(ctx, in, more, args...)
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !(ok && exit.ExitCode() == 1) { // 1: it ignores none
		return nil, err
	}
	// Each answer is source, line, pattern and path, each ended by a zero byte. The first three are empty when no pattern matches; a
	// pattern that begins with an exclamation mark takes the path in again.
	fields := bytes.Split(answer, []byte{0})
	if len(fields) != 4*len(paths)+1 {
		return nil, fmt.Errorf("git check-ignore: %d fields for %d paths", len(fields), len(paths))
	}
	out := make([]bool, len(paths))
	for i, path := range paths {
		f := fields[4*i : 4*i+4]
		if strings.TrimPrefix(string(f[3]), "./") != path {
			return nil, fmt.Errorf("git check-ignore: asked for %q, answered for %q", path, f[3])
		}
		out[i] = len(f[0]) > 0 && !bytes.HasPrefix(f[2], []byte("!"))
	}
	return out, nil
}
