package gitkeep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Bounds of what is read.
const (
	gitTime = 10 * time.Second
	maxFile = 4 << 20 // bytes of a file of settings, or of a hook
)

// state is what git runs by itself in a repository.
type state struct {
	dirs     []string                       // the git directory, and the common one of a linked working tree
	link     string                         // content of .git where it is a file
	stamps   map[string]stamp               // of all files that this is read from, those that do not exist among them
	identity stamp                          // of the common directory: device and inode alone
	settings map[string]map[string][]string // by file and key
	raw      map[string][]byte              // those files
	hooks    map[string]map[string]hook     // by directory and name
	unread   bool                           // settings are not filled in yet: load does
	err      error                          // git could not say
}

// hook is one file in a directory of hooks. The zero value is none.
type hook struct {
	mode os.FileMode
	text string
	link string // where it leads
}

// fresh reports whether all files are as they were.
func (s *state) fresh() bool {
	for path, was := range s.stamps {
		if now := stampOf(path); now != was && (was != was.identity() || now.identity() != was) {
			return false
		}
	}
	return true
}

func (s *state) sameRepository(other *state) bool { return s.identity == other.identity }

// read reads the state of the repository, lazily without asking git where that can wait. The stamps are taken first: what changes
// meanwhile makes it stale.
func (k *Keeper) read(ctx context.Context, lazy bool) *state {
	s := &state{stamps: map[string]stamp{}, settings: map[string]map[string][]string{}, raw: map[string][]byte{}, hooks: map[string]map[string]hook{}}
	if s.err = k.find(s); s.err != nil || len(s.dirs) == 0 {
		return s
	}
	s.identity = stampOf(s.dirs[len(s.dirs)-1]).identity()
	for _, dir := range s.dirs {
		for _, name := range []string{"config", "config.worktree"} {
			s.stamps[filepath.Join(dir, name)] = stampOf(filepath.Join(dir, name))
		}
		k.readHooks(s, filepath.Join(dir, "hooks"))
	}
	if s.unread = lazy && k.plain(s); s.unread {
		return s
	}
	s.err = k.ask(ctx, s)
	for path := range s.settings {
		text, err := readFile(path)
		if err != nil {
			s.err = errors.Join(s.err, err)
		}
		s.raw[path] = text
	}
	return s
}

// plain keeps the text of the file of settings, and reports whether that is all there is to them: no other file is included or in use.
// git need not be asked then before something changes.
func (k *Keeper) plain(s *state) bool {
	path := filepath.Join(s.dirs[len(s.dirs)-1], "config")
	text, err := readFile(path)
	if err != nil {
		return false
	}
	lower := bytes.ToLower(text)
	if bytes.Contains(lower, []byte("include")) || bytes.Contains(lower, []byte("worktreeconfig")) {
		return false
	}
	s.raw[path] = text
	return true
}

// load fills in the settings of an unread state, from the text it kept.
func (k *Keeper) load(ctx context.Context, s *state) {
	if !s.unread {
		return
	}
	s.unread = false
	for path, text := range s.raw {
		s.settings[path], s.err = k.list(ctx, text)
	}
}

// list asks git for the settings in a text, of which it gets a copy.
func (k *Keeper) list(ctx context.Context, text []byte) (map[string][]string, error) {
	dir, err := os.MkdirTemp("", "tenon-git-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "config")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		return nil, err
	}
	out, err := k.git(ctx, dir, "config", "--file", name, "--list", "-z")
	if err != nil {
		return nil, err
	}
	settings := map[string][]string{}
	for field := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
		if key, value, _ := strings.Cut(string(field), "\n"); key != "" {
			settings[key] = append(settings[key], value)
		}
	}
	return settings, nil
}

// git runs git, which runs nothing else here, and returns its output. Without git there is none.
func (k *Keeper) git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env = dir, k.environ
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return out, nil
}

// find fills in where the repository is: nowhere, in .git, or where the file .git says.
func (k *Keeper) find(s *state) error {
	path := filepath.Join(k.worktree, ".git")
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.stamps[path] = stamp{}
		return nil
	case err != nil:
		return err
	case info.IsDir():
		s.stamps[path] = stampOf(path).identity()
		s.dirs = []string{path}
		return nil
	case !info.Mode().IsRegular():
		s.stamps[path] = stampOf(path)
		return fmt.Errorf("%s is neither a directory nor a file", path)
	}
	s.stamps[path] = stampOf(path)
	text, err := readFile(path)
	if err != nil {
		return err
	}
	s.link = string(text)
	dir, ok := strings.CutPrefix(strings.TrimSpace(s.link), "gitdir: ")
	if !ok {
		return fmt.Errorf("%s does not name a repository", path)
	}
	s.dirs = []string{absolute(k.worktree, dir)}
	if common, err := readFile(filepath.Join(s.dirs[0], "commondir")); err == nil {
		s.dirs = append(s.dirs, absolute(s.dirs[0], strings.TrimSpace(string(common))))
	}
	return nil
}

func absolute(base, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}

// readHooks notes the hooks in a directory. Samples run nothing.
func (k *Keeper) readHooks(s *state, dir string) {
	s.stamps[dir] = stampOf(dir)
	found := map[string]hook{}
	s.hooks[dir] = found
	info, err := os.Lstat(dir)
	if err != nil {
		return // there are none
	}
	if !info.IsDir() {
		target, _ := os.Readlink(dir) // empty for a file, which is no directory of hooks either
		found["."] = hook{mode: info.Mode(), link: target}
		return
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		info, err := e.Info()
		if err != nil || info.IsDir() || strings.HasSuffix(e.Name(), ".sample") {
			continue
		}
		s.stamps[path] = stampOf(path)
		h := hook{mode: info.Mode()}
		if info.Mode()&fs.ModeSymlink != 0 {
			h.link, _ = os.Readlink(path) // gone meanwhile: the stamp tells
		} else if text, err := readFile(path); err == nil {
			h.text = string(text)
		}
		found[e.Name()] = h
	}
}

// ask asks git for the settings of the repository: those of its own files and of what they include, not of the user's.
func (k *Keeper) ask(ctx context.Context, s *state) error {
	out, err := k.git(ctx, k.worktree, "config", "--list", "--includes", "-z", "--show-origin", "--show-scope")
	if err != nil {
		return err
	}
	for _, e := range parse(out) {
		if e.scope != "local" && e.scope != "worktree" {
			continue
		}
		path := absolute(k.worktree, e.file)
		if s.settings[path] == nil {
			s.settings[path] = map[string][]string{}
			s.stamps[path] = stampOf(path)
		}
		s.settings[path][e.key] = append(s.settings[path][e.key], e.value)
		if strings.HasPrefix(e.key, "include") && strings.HasSuffix(e.key, ".path") && !strings.HasPrefix(e.value, "~") {
			included := absolute(filepath.Dir(path), e.value) // it may come to be
			s.stamps[included] = stampOf(included)
		}
	}
	return nil
}

// entry is one setting.
type entry struct{ scope, file, key, value string }

// parse reads what git config --list -z --show-origin --show-scope prints: scope NUL "file:" path NUL key newline value NUL. A setting
// without a value has no newline. What does not have this form is left out.
func parse(out []byte) []entry {
	fields := strings.Split(string(out), "\x00")
	var list []entry
	for ; len(fields) >= 3; fields = fields[3:] {
		file, ok := strings.CutPrefix(fields[1], "file:")
		if !ok {
			continue
		}
		key, value, _ := strings.Cut(fields[2], "\n")
		list = append(list, entry{fields[0], file, key, value})
	}
	return list
}

// readFile reads a plain file of bounded size, and no device or pipe, which might never end.
func readFile(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("%s: not a plain file of at most %d bytes", path, maxFile)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile))
	return text, errors.Join(err, f.Close())
}
