package gitkeep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/internal/projectfs"
)

// Limits of reading.
const (
	gitTime  = 10 * time.Second
	maxPath  = 8 << 10     // bytes of a file commondir
	maxFile  = 4 << 20     // bytes of a file of settings, or of a file of the project that a hook leads to
	maxHook  = 64 << 20    // bytes of a hook
	maxBytes = 2 * maxHook // of all hooks, and of all settings
	maxFiles = 50_000      // files and directories whose stamps are kept
	maxAsked = 100         // git directories in one question to git: its time grows with the square of their number, and arguments have a maximum length
	maxDepth = 16          // directories from modules to a submodule, nested submodules included
	maxNotes = 20          // successes or failures that are named

	maxPasses = 40 // of restoring: one for each directory that is hidden in another
)

// state describes the settings and hooks of a repository, its submodules and its other working trees.
type state struct {
	dirs     []string                       // git directories: of the working tree, then the common one if it is linked, then of submodules and other working trees
	own      int                            // number of those that belong to the working tree
	link     string                         // content of .git if it is a file
	toFile   bool                           // .git is a link to a file
	pointers map[string]pointer             // by path: files that make git use another directory: commondir in git directories, .git of submodules and other working trees
	stamps   map[string]stamp               // of all files that were read, including those that do not exist
	settings map[string]map[string][]string // by file and key
	raw      map[string]string              // text of the files in settings
	hooks    map[string]hook                // by path: hooks, links in place of their directories, and files of the project that links among them lead to
	hookDirs map[string]bool                // directories of hooks; true: all files below them count
	modes    map[string]os.FileMode         // of directories: those that were read, and all above
	project  string                         // see keeper
	left     int64                          // bytes of files that may still be read
	closed   map[string]error               // directories that cannot be listed
	err      error                          // reason why the settings are incomplete
	before   *state                         // has the copies of hooks that are unchanged since; nil for the state before a command
}

// pointer is a file that names a directory.
type pointer struct {
	text string // begins with NUL if it is not a file of limited size
	to   string // the directory to which git makes the file lead; empty if git does not make it
}

// hook is one file in a directory of hooks. The zero value is a file that does not exist.
type hook struct {
	mode   os.FileMode
	text   string
	link   string // target of a link
	unread stamp  // of a file without a known text, because it is too large or not readable
}

// stamp is the stamp of a file. Programs cannot hide a change from it.
type stamp = projectfs.Stamp

func stampOf(path string) stamp { return projectfs.StampOf(os.Lstat(path)) }

// fresh reports whether all files are unchanged. On systems without inodes, a new file has the same identity as no file.
func (s *state) fresh() bool {
	for path, was := range s.stamps {
		if now := stampOf(path); now != was && (was == stamp{} || was != was.Identity() || now.Identity() != was) {
			return false
		}
	}
	for dir, was := range s.modes {
		if full := s.stamps[dir]; full != full.Identity() || !projectfs.Inside(s.rootOf(dir), dir) {
			continue // compared above, or not restored
		}
		if info, err := os.Stat(dir); err != nil || info.Mode() != was {
			return false
		}
	}
	return true
}

// rootOf returns the directory below which a file is restored: the project, or a git directory of the repository. Links cannot lead out of it.
func (s *state) rootOf(path string) string {
	for _, dir := range slices.Backward(s.dirs[:s.own]) { // the common one first: commands can replace those in it
		if projectfs.Inside(dir, path) && !projectfs.Inside(s.project, path) {
			return dir
		}
	}
	return s.project
}

// same reports whether a git directory has not been replaced.
func (s *state) same(dir string) bool { return s.stamps[dir].Identity() == stampOf(dir).Identity() }

// read reads the state of the repository. The stamps are taken first: a change during the read makes the state stale.
func (k *keeper) read(ctx context.Context, before *state) *state {
	s := &state{
		pointers: map[string]pointer{}, stamps: map[string]stamp{}, settings: map[string]map[string][]string{}, raw: map[string]string{},
		hooks: map[string]hook{}, hookDirs: map[string]bool{}, modes: map[string]os.FileMode{}, closed: map[string]error{}, project: k.project, left: maxBytes, before: before,
	}
	defer s.readModes()
	if s.err = k.find(s); s.err != nil || len(s.dirs) == 0 {
		return s
	}
	s.own = len(s.dirs)
	for _, dir := range s.dirs[:s.own] {
		parent := filepath.Join(dir, "worktrees") // the git directories of linked working trees
		for _, name := range s.list(parent) {
			path := filepath.Join(parent, name)
			s.add(path)
			s.readCommon(path, dir)
			if text, err := readFile(filepath.Join(path, "gitdir"), maxPath); err == nil {
				s.readTree(projectfs.Pointed(path, string(text)), path)
			}
		}
		s.modules(filepath.Join(dir, "modules"), 0)
	}
	for _, dir := range s.dirs {
		for _, name := range []string{"config", "config.worktree"} {
			path := filepath.Join(dir, name)
			s.stamps[path], s.settings[path] = stampOf(path), nil     // git lists none of an empty file
			if real, err := filepath.EvalSymlinks(path); err == nil { // it may be a link
				s.stamps[real] = stampOf(real)
			}
		}
		s.readCommon(dir, "")
		hooks := filepath.Join(dir, "hooks")
		s.readHooks(hooks, true)
		k.readHooksPath(s, dir, s.hooks[hooks].link)
	}
	if len(s.stamps) > maxFiles {
		s.err = fmt.Errorf("%s: more than %d files that git reads", s.dirs[0], maxFiles)
	}
	s.err = errors.Join(s.err, k.ask(ctx, s))
	if before != nil {
		for path, p := range before.pointers { // git directories may name other working trees now
			s.readTree(path, p.to)
		}
	}
	s.left = maxBytes // hooks do not take the space of settings
	for path, listed := range s.settings {
		text, err := s.readSettings(path)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			s.raw[path] = text
		}
		if err != nil && listed != nil {
			s.err = errors.Join(s.err, err)
		}
	}
	return s
}

// readSettings reads a file of settings, which may be a link.
func (s *state) readSettings(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	text, err := s.readFile(real, maxFile)
	return string(text), err
}

// commonFile is the file in a git directory that names the common one.
const commonFile = "commondir"

// readCommon returns the text that names the directory from which a git directory takes its settings and hooks; "" if there is none. For that of a
// linked working tree, git makes it lead to the repository to.
func (s *state) readCommon(dir, to string) string {
	return s.readPointer(filepath.Join(dir, commonFile), to)
}

// readTree reads the file .git of another working tree, to which a git directory belongs. git status in a repository uses those of its submodules.
func (s *state) readTree(path, dir string) {
	if projectfs.Inside(s.project, path) {
		s.readPointer(path, dir)
	}
}

// readPointer reads a file that names a directory, unless it was read, and returns its text; "" if there is none.
func (s *state) readPointer(path, to string) string {
	if _, read := s.stamps[path]; read {
		return s.pointers[path].text
	}
	is := stampOf(path)
	if is.Mode.IsDir() {
		is = is.Identity()
	}
	if s.stamps[path] = is; is == (stamp{}) {
		return ""
	}
	text, err := readFile(path, maxPath)
	if err != nil {
		link, _ := os.Readlink(path)
		text = fmt.Appendf(nil, "\x00%s%v", link, is.Identity())
	}
	s.pointers[path] = pointer{string(text), to}
	return string(text)
}

// modules adds the git directories of submodules. A directory without HEAD is part of the name of a submodule.
func (s *state) modules(parent string, depth int) {
	if depth > maxDepth || len(s.stamps) > maxFiles {
		return
	}
	for _, name := range s.list(parent) {
		path := filepath.Join(parent, name)
		if stampOf(filepath.Join(path, "HEAD")) == (stamp{}) {
			s.modules(path, depth+1)
			continue
		}
		s.add(path)
		s.modules(filepath.Join(path, "modules"), depth+1)
	}
}

// add adds a git directory other than those of the working tree.
func (s *state) add(dir string) {
	if slices.Contains(s.dirs[:s.own], dir) {
		return
	}
	s.dirs = append(s.dirs, dir)
	s.stamps[dir] = stampOf(dir).Identity()
}

// list returns the names of directories, and of links to directories, in a directory. A new name makes the state stale.
func (s *state) list(dir string) (names []string) {
	s.stamps[dir] = stampOf(dir)
	for _, e := range s.entries(dir) {
		if info, err := os.Stat(filepath.Join(dir, e.Name())); err == nil && info.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

// entries returns the entries of a directory, which is usually missing.
func (s *state) entries(dir string) []os.DirEntry {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		s.closed[dir] = err
	}
	return entries
}

// hidden reports whether a path is below a directory that could not be listed.
func (s *state) hidden(path string) bool {
	for dir := range s.closed {
		if dir != path && projectfs.Inside(dir, path) {
			return true
		}
	}
	return false
}

// readModes reads the modes of the directories on the way to everything that has a stamp.
func (s *state) readModes() {
	for path := range s.stamps {
		for dir := path; s.modes[dir] == 0; dir = filepath.Dir(dir) {
			if info, err := os.Stat(dir); err == nil && info.IsDir() {
				s.modes[dir] = info.Mode()
			} else if dir == filepath.Dir(dir) {
				break
			}
		}
	}
}

// Git runs a git command for at most 10 seconds and returns its output. It does not run a git in the project. The error of a failed command
// wraps an *exec.ExitError and contains its standard error.
func Git(ctx context.Context, project, dir string, environ []string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	git, err := projectfs.LookPath("git", project)
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, git, args...)
	cmd.Dir, cmd.Env = dir, append(environ[:len(environ):len(environ)], "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")
	child.Prepare(cmd)
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(exit.Stderr)))
	}
	return string(out), err
}

// git runs git, which starts no other program here, without variables that make it read other repositories. If git is not installed, the output is
// empty.
func (k *keeper) git(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := Git(ctx, k.project, dir, child.GitEnviron(os.Environ()), args...)
	if errors.Is(err, exec.ErrNotFound) {
		return "", nil
	}
	return out, err
}

// find sets the directories of the repository, if any: .git, or the directories that the link or the file .git leads to.
func (k *keeper) find(s *state) error {
	path := filepath.Join(k.worktree, ".git")
	s.stamps[path] = stampOf(path)
	info, err := os.Lstat(path)
	var dir string
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.IsDir():
		s.stamps[path] = stampOf(path).Identity()
		s.dirs = []string{path}
		return nil
	case info.Mode()&fs.ModeSymlink != 0:
		end := path + "/." // the directory itself, with links followed
		s.stamps[end] = stampOf(end).Identity()
		if dir, err = filepath.EvalSymlinks(path); err != nil {
			return nil // git finds no repository either
		}
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			s.toFile = true
			return fmt.Errorf("%s is a link to a file", path)
		}
	case info.Mode().IsRegular():
		text, err := readFile(path, maxFile)
		if err != nil {
			return err
		}
		s.link = string(text)
		name, ok := strings.CutPrefix(s.link, "gitdir: ")
		if !ok {
			return fmt.Errorf("%s does not name a repository", path)
		}
		dir = projectfs.Pointed(k.worktree, name)
	default:
		return fmt.Errorf("%s is neither a directory nor a file", path)
	}
	s.dirs = []string{dir}
	to := ""
	if parent := filepath.Dir(dir); s.link != "" && filepath.Base(parent) == "worktrees" {
		to = filepath.Dir(parent)
	}
	if common := s.readCommon(dir, to); common != "" { // of a linked working tree
		s.dirs = append(s.dirs, projectfs.Pointed(dir, common))
	}
	for _, dir := range s.dirs {
		s.stamps[dir] = stampOf(dir).Identity()
	}
	return nil
}

// Directories returns the git directory of a working tree and, if it is linked, the one of its repository. The files that name them may lie.
func Directories(worktree string) []string {
	s := &state{stamps: map[string]stamp{}, pointers: map[string]pointer{}}
	_ = (&keeper{worktree: worktree}).find(s) // after an error, there are none
	return s.dirs
}

// hookName accepts the names that git gives to hooks. Other files in a directory of the project, such as a README, are not hooks.
func hookName(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool { return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') })
}

// readHooks reads the hooks in a directory, except samples. all includes files without the name of a hook, and directories: hooks of .git/hooks may
// run files next to them. A link in place of the directory counts as one hook.
func (s *state) readHooks(dir string, all bool) {
	s.stamps[dir], s.hookDirs[dir] = stampOf(dir), all
	info, err := os.Lstat(dir)
	if err != nil {
		return
	}
	if !info.IsDir() {
		s.readHook(dir, maxHook)
		return
	}
	for _, e := range s.entries(dir) {
		switch path := filepath.Join(dir, e.Name()); {
		case e.IsDir() && all && len(s.stamps) <= maxFiles:
			s.readHooks(path, all)
		case e.IsDir(), strings.HasSuffix(path, ".sample"), !all && !hookName(e.Name()):
		default:
			s.follow(dir, s.readHook(path, maxHook).link)
		}
	}
}

func (s *state) isHookDir(path string) bool {
	_, is := s.hookDirs[path]
	return is
}

// readHook reads one hook of at most limit bytes.
func (s *state) readHook(path string, limit int64) (h hook) {
	s.stamps[path] = stampOf(path)
	defer func() { s.hooks[path] = h }()
	if s.before != nil && s.stamps[path] == s.before.stamps[path] { // also if only one of the states has space for a copy
		if h, known := s.before.hooks[path]; known {
			return h
		}
	}
	info, err := os.Lstat(path)
	if err != nil || info.IsDir() {
		return h
	}
	h.mode = info.Mode() & (fs.ModeType | fs.ModePerm)
	if info.Mode()&fs.ModeSymlink != 0 {
		h.link, _ = os.Readlink(path) // if it has been removed, the stamp differs
		return h
	}
	text, err := s.readFile(path, limit)
	if err != nil {
		h.unread = s.stamps[path]
	}
	h.text = string(text)
	return h
}

// follow reads the file of the project that a link in a directory leads to, through any number of links.
func (s *state) follow(dir, link string) {
	path := projectfs.Join(dir, link)
	if _, known := s.hooks[path]; known || link == "" || !projectfs.Inside(s.project, path) {
		return
	}
	s.follow(filepath.Dir(path), s.readHook(path, maxFile).link)
}

// ask asks git for the settings in all git directories and in the files they include, and reads the hooks in directories of the project that
// core.hooksPath names. It does not record the user's own settings, which commands cannot write.
func (k *keeper) ask(ctx context.Context, s *state) error {
	hooksPath := ""
	for dirs := range slices.Chunk(s.dirs, maxAsked) {
		var args []string
		for _, dir := range dirs {
			args = append(args, "-c", "include.path="+filepath.Join(dir, "config"), "-c", "include.path="+filepath.Join(dir, "config.worktree"))
		}
		out, err := k.git(ctx, k.worktree, append(args, "config", "--list", "--includes", "-z", "--show-origin")...)
		if err != nil {
			return err
		}
		for _, e := range parse(out) {
			if !e.ours {
				if e.key == "core.hookspath" {
					hooksPath = e.value
				}
				continue
			}
			path := projectfs.Join(k.worktree, e.file)
			if s.settings[path] == nil {
				s.settings[path] = map[string][]string{}
				s.stamps[path] = stampOf(path)
			}
			s.settings[path][e.key] = append(s.settings[path][e.key], e.value)
			if strings.HasPrefix(e.key, "include") && strings.HasSuffix(e.key, ".path") && !strings.HasPrefix(e.value, "~") {
				included := projectfs.Join(filepath.Dir(path), e.value) // may be created later
				s.stamps[included] = stampOf(included)
			}
		}
	}
	k.readHooksPath(s, k.worktree, hooksPath)
	for _, dir := range s.dirs[s.own:] {
		settings := s.settings[filepath.Join(dir, "config")]
		worktree := settings["core.worktree"]
		if len(worktree) == 0 {
			continue
		}
		path := hooksPath
		if own := settings["core.hookspath"]; len(own) > 0 {
			path = own[len(own)-1]
		}
		tree := projectfs.Follow(dir, worktree[len(worktree)-1])
		s.readTree(filepath.Join(tree, ".git"), dir)
		k.readHooksPath(s, tree, path)
	}
	return nil
}

// readHooksPath reads the hooks in a directory of the project outside git's directories. core.hooksPath names it, relative to a working tree,
// or a link that replaces a git directory's hooks.
func (k *keeper) readHooksPath(s *state, base, path string) {
	dir := projectfs.Join(base, path)
	if path == "" || strings.HasPrefix(path, "~") || !projectfs.Inside(k.project, dir) || s.isHookDir(dir) {
		return
	}
	s.readHooks(dir, false)
	k.readHooksPath(s, filepath.Dir(dir), s.hooks[dir].link) // it may be a link too
}

// entry is one setting; ours: from a file that the arguments of ask include.
type entry struct {
	file, key, value string
	ours             bool
}

// parse parses the output of git config --list -z --show-origin: "file:" path NUL key newline value NUL. A setting without a value has no
// newline. Settings from arguments have another origin; the files that they include follow, after all other files. Git older than 2.26 cannot tell
// scopes.
func parse(out string) []entry {
	fields := strings.Split(out, "\x00")
	var list []entry
	ours := false
	for ; len(fields) >= 2; fields = fields[2:] {
		file, ok := strings.CutPrefix(fields[0], "file:")
		if !ok {
			ours = true
			continue
		}
		key, value, _ := strings.Cut(fields[1], "\n")
		list = append(list, entry{file, key, value, ours})
	}
	return list
}

// readFile reads a file as the function readFile does, if there is space for it.
func (s *state) readFile(path string, limit int64) ([]byte, error) {
	text, err := readFile(path, min(limit, s.left))
	s.left -= int64(len(text))
	return text, err
}

// readFile reads a regular file of limited size, and follows no link. Devices and pipes, which might never end, are an error, even if a command
// puts one in the place of the file at this moment.
func readFile(path string, limit int64) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, fmt.Errorf("%s: not a plain file of at most %d bytes", path, limit)
	}
	f, opened, err := projectfs.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	text, _, err := projectfs.ReadLimited(f, limit)
	if !os.SameFile(info, opened) {
		err = errMeanwhile
	}
	return text, err
}
