package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/sdk"
)

// judgement lists the permissions that a text requires.
type judgement struct {
	commands []string // patterns of the permission bash, one for each simple command
	always   []string // patterns that "always" offers for them
	implied  []sdk.ImpliedPermission
	outside  []string // absolute paths that the words name: those outside the project require permission
	writes   []string // absolute paths of written files, which require edit
	verbatim error    // reason why the text as a whole requires permission; nil: only commands run
	parts    int      // number of parts of words that may be paths, and of the directories in them; above maxParts, outside is incomplete
}

// judge judges the commands of a text one after another.
type judge struct {
	judgement
	ctx    context.Context // bounds questions to git
	call   *sdk.ToolCall
	base   string // the directory that the next command runs in
	linked bool   // an earlier command may have created links: paths may lead anywhere
	within int    // words that may begin a command in texts for other programs
}

// judgeText judges a text that the shell runs in dir.
func judgeText(ctx context.Context, call *sdk.ToolCall, text, dir string, shell shell) judgement {
	j := &judge{ctx: ctx, call: call, base: dir}
	list, err := parse(text)
	if err == nil && !shell.grammar {
		err = fmt.Errorf("the language of %s", filepath.Base(shell.path))
	}
	for i := 0; err == nil && i < len(list); i++ {
		err = j.simple(&list[i])
	}
	if err != nil {
		j.verbatim, j.commands, j.always, j.base = err, nil, nil, dir
		j.parsed(text, shell)
	}
	return j.judgement
}

func (j *judge) simple(c *simple) error {
	err := j.paths(c.reads)
	for _, w := range c.writes {
		err = cmp.Or(err, j.output(w.text))
	}
	if c.words[0].text == "cd" {
		j.imply("bash", normal(c.words), false)
		return cmp.Or(err, j.cd(c))
	}
	return cmp.Or(err, j.command(c.words, true))
}

// cd changes the base. It must be certain to run and to succeed: no other command may have removed its directory.
func (j *judge) cd(c *simple) error {
	alone := len(j.commands) == 0 && !c.piped && len(c.reads)+len(c.writes) == 0 && (c.join == "" || c.join == ";")
	if !alone || len(c.words) != 2 || c.words[1].glob != "" || strings.HasPrefix(c.words[1].text, "-") {
		return fmt.Errorf("cd to something other than a directory, or after another command")
	}
	dir := from(j.base, c.words[1].text)
	_, outside := paths.External(j.call, dir)
	if outside || !isDir(dir+"/.") || !same(paths.Real(j.base), j.base) || !same(paths.Real(dir), filepath.Clean(dir)) {
		return fmt.Errorf("cd to a directory that does not exist, is outside of the project, or is reached through a link")
	}
	j.base = filepath.Clean(dir)
	return nil
}

// same reports whether two paths are spelled alike, except for case on Windows, where Real returns the names that directories list.
func same(a, b string) bool { return a == b || runtime.GOOS == "windows" && strings.EqualFold(a, b) }

var plainName = lazyregexp.New(`^(?:[\w./][\w./+@:-]*|\[)$`)

// command judges the words of a command. It adds a permission for the command if asks is set; otherwise the permission of the command that
// runs it suffices.
func (j *judge) command(words []word, asks bool) error {
	name := words[0].text
	if words[0].glob != "" || !plainName().MatchString(name) {
		return fmt.Errorf("a command whose name is a pattern, an assignment or not one plain word")
	}
	j.imply("bash", normal(words), false)
	if err := j.path(name); err != nil && strings.Contains(name, "/") {
		return err
	}
	source, base := words, path.Base(name)
	if base == "git" {
		shells := j.base
		defer func() { j.base = shells }()
		words = j.gitWords(words)
		if j.base != shells && slices.ContainsFunc(words, func(w word) bool { return w.glob != "" }) {
			return fmt.Errorf("git -C with a pattern, which matches files of another directory")
		}
		j.imply("bash", normal(words), false)
	}
	p, keys, err := programOf(base, words)
	if err != nil {
		return err
	}
	if asks {
		j.commands = append(j.commands, sources(source))
		if pattern := j.narrowest(p, keys, source); pattern != "" && len(source) == len(words) {
			j.always = appendNew(j.always, []string{pattern})
		}
	}
	if p != nil {
		err := j.program(p, keys, words)
		if err == nil && base == "git" {
			err = checkGit(j.ctx, worktreeOf(j.call), j.base, words)
		}
		return err
	}
	for i, w := range words[1:] { // it may run its arguments or write to them
		j.imply("bash", normal(words[i+1:]), true)
		text := w.text
		if strings.HasPrefix(text, "-") {
			_, text, _ = strings.Cut(text, "=")
		}
		if text != "" {
			j.implyFile("edit", text, true)
		}
		if strings.Contains(text, " ") { // may be a text for a shell, as in nix-shell --run 'cd a && rm b'
			if err := j.commandsIn(text, true); err != nil {
				return err
			}
		}
	}
	return j.paths(words[1:])
}

// paths judges words that may be paths.
func (j *judge) paths(words []word) error {
	for _, w := range words {
		expanded, err := j.expand(w)
		if err != nil {
			return err
		}
		for _, text := range expanded {
			j.reads(text, false)
			if err := j.path(text); err != nil {
				return err
			}
		}
	}
	return nil
}

// excludes matches options that name files which a program does not read.
var excludes = lazyregexp.New(`^--exclude(-dir)?=`)

// reads applies rules for reading to the files that a word, or a part of it, names. maybe says that the word may have another meaning.
func (j *judge) reads(text string, maybe bool) {
	if excludes().MatchString(text) {
		return
	}
	for _, piece := range j.pieces(text) {
		if p := from(j.base, piece); paths.Remote(j.call, p) || exists(paths.Real(p)) || exists(filepath.Clean(p)) {
			j.implyFile("read", piece, maybe)
		}
	}
}

// separators split a word into possible paths: --file=PATH, -IPATH, if=PATH, host:PATH, a,b, @PATH.
var separators = lazyregexp.New(`[=:,@]|^-+[A-Za-z]?|^-[^/.]+`)

// maxPath is the maximum length of a path that a program can open, in bytes, as in Linux. Some, such as node, clean a path first.
const maxPath = 4095

// maxParts is the maximum of judgement.parts. Only a text that was made for the purpose exceeds it. Each part costs
// some system calls.
const maxParts = 100_000

var errParts = errors.New("words with too many parts that may be paths")

// address matches the beginning of an address such as https://host/dir, but no directory in a list of paths. A single letter may be a drive.
var address = lazyregexp.New(`(^|[^\w.+/\\-])(-*[A-Za-z][A-Za-z0-9+.-]+:)//`)

// pieces returns a word and its parts that may be paths, with their numbers. If there are more than maxParts, the text may name any path.
func (j *judge) pieces(text string) iter.Seq2[int, string] {
	if runtime.GOOS == "windows" && !strings.Contains(strings.ToLower(text), "file:") { // where the rest of an address would be the path of a server
		text = address().ReplaceAllString(text, "${1}${2}/")
	}
	list := append([]string{text}, strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("=:,@", r) })...)
	for _, at := range separators().FindAllStringIndex(text, -1) {
		list = append(list, text[at[1]:])
	}
	return func(yield func(int, string) bool) {
		for i, piece := range slices.Compact(list) {
			possible := piece != "" && piece != os.DevNull && len(filepath.Clean(piece)) <= maxPath
			if j.parts += 1 + len(piece)/1000; possible {
				j.parts += strings.Count(piece, "/")
			}
			if j.parts > maxParts {
				j.outside = appendNew(j.outside, []string{filepath.VolumeName(j.base) + string(filepath.Separator)})
				return
			}
			if possible && !yield(i, piece) {
				return
			}
		}
	}
}

// path records the paths outside the project that a word, or a part of it, names, even if it returns an error.
func (j *judge) path(text string) (err error) {
	for i, piece := range j.pieces(text) {
		p := from(j.base, piece)
		switch {
		case paths.Remote(j.call, p):
			j.outside = appendNew(j.outside, []string{p})
			err = fmt.Errorf("a path on another server")
			continue
		case j.linked && i == 0 && text[0] != '-':
			err = fmt.Errorf("a path that an earlier command may have changed")
		case tooDeep(p):
			err = fmt.Errorf("a path of more than %d bytes", maxPath)
		}
		if _, outside := paths.External(j.call, p); outside && plausible(p) {
			j.outside = appendNew(j.outside, []string{p})
		}
	}
	if j.parts > maxParts {
		return errParts
	}
	return err
}

// tooDeep reports whether a path contains so many existing directories that links in the rest of it cannot be followed.
func tooDeep(p string) bool {
	real := paths.Real(p)
	if len(real) <= maxPath {
		return false
	}
	dir := filepath.Dir(real[:maxPath+1])
	return len(dir) > maxPath-1024 && exists(dir) // no name has 1024 bytes, but text may
}

// output records a file that is written.
func (j *judge) output(text string) error {
	j.writes = appendNew(j.writes, []string{from(j.base, text)})
	return j.path(text)
}

// maxGlob is the maximum number of files that one word may match.
const maxGlob = 5000

// expand returns the possible expansions of a word: itself, and the files that it matches.
func (j *judge) expand(w word) ([]string, error) {
	if w.glob == "" {
		return []string{w.text}, nil
	}
	dir, pattern, prefix, longest := "", path.Clean(w.glob), "", 0 // glob finds nothing for */ and */./a
	if at := drive().FindStringSubmatch(pattern); at != nil && runtime.GOOS == "windows" {
		dir, pattern = at[1]+at[2]+":", pattern[len("c:"):]
	}
	if pattern = strings.TrimPrefix(pattern, "/"); dir == "" && !path.IsAbs(w.text) {
		dir = strings.TrimSuffix(j.base, "/")
		prefix = dir + "/"
		longest = len(j.base) + 256*strings.Count("/"+w.glob, "/") // Glob does not find names that are too long with the base
	}
	matches, ok := j.glob(dir, pattern)
	if !ok || longest > maxPath || strings.Contains(w.text, "..") {
		return nil, fmt.Errorf("a pattern with .., with many directories, or one that matches more than %d files", maxGlob)
	}
	for i := range matches {
		if matches[i] = strings.TrimPrefix(matches[i], prefix); strings.HasPrefix(matches[i], "-") {
			return nil, fmt.Errorf("a pattern that matches the file %q, which looks like an option", matches[i])
		}
	}
	return append(matches, w.text), nil
}

// glob returns the files below a directory that a pattern matches; ok is false if there are too many. It is filepath.Glob, name by name: with
// links to directories above them, */*/*/… matches more files than there is memory for.
func (j *judge) glob(dir, pattern string) (found []string, ok bool) {
	found = []string{dir}
	for name := range strings.SplitSeq(pattern, "/") {
		dirs := found
		found = nil
		for _, dir := range dirs {
			if !isDir(dir + "/") {
				continue
			}
			if j.parts += 10; j.parts > maxParts { // reading a directory costs more than looking for a file
				return nil, false
			}
			matches, err := globDir(dir, name)
			if found = append(found, matches...); err != nil || len(found) > maxGlob || j.ctx.Err() != nil {
				return nil, false
			}
		}
	}
	return found, true
}

// globDir returns the files in a directory that the pattern of a name matches. Unlike filepath.Glob, fs.Glob reads a backslash as shells do on
// all systems.
func globDir(dir, pattern string) (found []string, err error) {
	names := []string{pattern}
	if strings.ContainsAny(pattern, `*?[\`) {
		names, err = fs.Glob(os.DirFS(dir+"/"), pattern)
	} else if !exists(dir + "/" + pattern) {
		return nil, nil
	}
	for _, name := range names {
		if strings.HasPrefix(pattern, ".") || !strings.HasPrefix(name, ".") { // shells match hidden names only by patterns with a dot
			found = append(found, dir+"/"+name)
		}
	}
	return found, err
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func (j *judge) imply(permission, pattern string, maybe bool) {
	j.implied = appendNew(j.implied, []sdk.ImpliedPermission{{Permission: permission, Pattern: pattern, Maybe: maybe}})
}

// implyFile applies rules for reading or editing a file to a command that names it.
func (j *judge) implyFile(permission, text string, maybe bool) {
	for _, pattern := range paths.Patterns(j.call, filepath.Clean(from(j.base, text))) {
		j.imply(permission, pattern, maybe)
	}
}

// from returns the path that a word means in the directory base. On Windows, a path may lack the drive (/dir) or the directory (c:file). In
// the second case the root of the drive is taken, since only the shell knows the current directory of the drive.
func from(base, text string) string {
	if runtime.GOOS == "windows" {
		text = onDrive(base, text)
	}
	volume := filepath.VolumeName(text)
	switch sep := string(filepath.Separator); {
	case filepath.IsAbs(text):
		return text
	case volume != "":
		return volume + sep + text[len(volume):]
	case text == "" || !os.IsPathSeparator(text[0]):
		return base + sep + text
	}
	return filepath.VolumeName(base) + text
}

// drive matches a path with a drive, which Git's bash also accepts as /c.
var drive = lazyregexp.New(`^(?:/([A-Za-z])|([A-Za-z]):)(?:/|$)`)

// onDrive returns a path with its drive if Git's bash reads the word that way, as in /c/dir or ../../c/dir, and other words unchanged. The
// parent of a drive's root is the directory of all drives. Two slashes begin the name of a network share, three count as one.
func onDrive(base, text string) string {
	word := filepath.ToSlash(text)
	rooted := strings.HasPrefix(word, "/")
	switch volume := filepath.VolumeName(base); {
	case filepath.VolumeName(text) != "" && !strings.HasPrefix(word, "///"), !rooted && (text == "" || filepath.IsLocal(text) || len(volume) != len("c:")):
		return text
	case !rooted:
		word = "/" + volume[:1] + filepath.ToSlash(base[len(volume):]) + "/" + word
	}
	word = path.Clean(word)
	if at := drive().FindStringSubmatch(word); at != nil {
		return at[1] + ":" + string(filepath.Separator) + filepath.FromSlash(word[len(at[0]):])
	}
	return text
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// plausible reports whether a word can mean the path p outside the project: the path exists, or its directory does and is not the root. So
// a search for /api/users names no path.
func plausible(p string) bool {
	return slices.ContainsFunc([]string{paths.Real(p), filepath.Clean(p)}, func(p string) bool {
		dir := filepath.Dir(p)
		return exists(p) || filepath.Dir(dir) != dir && exists(dir)
	})
}

// normal returns a command without quotes and without the directory of its program, so that spelling does not evade deny rules.
func normal(words []word) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.text
	}
	texts[0] = path.Base(texts[0])
	return strings.Join(texts, " ")
}

// sources returns the words as they are written.
func sources(words []word) string {
	text := words[0].source
	for _, w := range words[1:] {
		text += " " + w.source
	}
	return text
}
