package trust

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/projectfs"
)

// LocalFiles returns the files below root that the words of a command name, such as ./scripts/check.sh, looked for from dir. All paths
// are absolute.
//
// A word may be a whole shell line. It is not run, so directories in it are guessed: a variable or a command substitution is root, dir or
// empty; directories named by cd are searched, too; and a name without extension is tried with the extensions of scripts. Extra files do no
// harm: their changes are shown. Files that no word names, such as files a script sources, are not found; NotCovered tells the user.
func LocalFiles(root, dir string, words []string) []string {
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil
	}
	var out []string
	add := func(candidate string) bool {
		path, err := filepath.EvalSymlinks(candidate)
		if err != nil || !projectfs.Inside(root, path) {
			return false
		}
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			return false
		}
		if !slices.Contains(out, path) {
			out = append(out, path)
		}
		return true
	}
	script := func(candidate string) {
		if add(candidate) || filepath.Ext(candidate) != "" || strings.HasPrefix(filepath.Base(candidate), "-") {
			return
		}
		for _, ending := range scriptEndings {
			add(candidate + ending)
		}
	}
	for _, line := range words {
		bases := []string{dir}
		for _, path := range namedIn(line, root, dir) {
			if filepath.IsAbs(path) {
				script(path)
				bases = appendDirectory(bases, path)
				continue
			}
			for _, base := range bases {
				script(filepath.Join(base, path))
				bases = appendDirectory(bases, filepath.Join(base, path))
			}
		}
	}
	return out
}

// NotCovered describes the files that LocalFiles does not find, for the question for approval.
const NotCovered = "files that they reach in other ways (globs, make, npm, python -m, files that scripts source or import): tenon does not notice changes to them"

// scriptEndings are the extensions that interpreters add to a name: node for modules, the others by convention.
var scriptEndings = []string{".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".py", ".rb", ".sh", "/index.js", "/index.mjs", "/package.json", "/__main__.py"}

// maxBases limits the directories that are searched for the files of one command.
const maxBases = 8

// appendDirectory adds a directory named by a command: it may change to it before it starts the next file.
func appendDirectory(bases []string, path string) []string {
	if info, err := os.Stat(path); err != nil || !info.IsDir() || len(bases) == maxBases || slices.Contains(bases, filepath.Clean(path)) {
		return bases
	}
	return append(bases, filepath.Clean(path))
}

// substitution matches a command substitution: $(…), `…`.
var substitution = regexp.MustCompile("\\$\\([^()]*\\)|`[^`]*`")

// variable matches a variable: $NAME, ${NAME}, ${NAME:-default}; %NAME% on Windows.
var variable = regexp.MustCompile(`\$[A-Za-z_][A-Za-z0-9_]*|\$\{[^}]*\}|%[A-Za-z_][A-Za-z0-9_]*%`)

// namedIn returns the possible paths in a line, in order, without duplicates: the words of the line, their pieces, and the line itself, with
// variables replaced.
func namedIn(line, root, dir string) []string {
	pieces := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(separators+"\"'", r) })
	var out []string
	seen := map[string]bool{}
	add := func(path string) {
		if path != "" && !seen[path] {
			seen[path] = true
			out = append(out, path)
		}
	}
	replaced := substitution.ReplaceAllLiteralString(line, "${output}")
	for _, word := range slices.Concat(shellWords(replaced), shellWords(line), pieces, []string{line}) {
		add(word)
		if !variable.MatchString(word) {
			continue
		}
		for _, value := range []string{root, dir, ""} {
			path := variable.ReplaceAllLiteralString(word, value)
			add(path)
			add(strings.TrimLeft(path, "/")) // of an empty variable
		}
	}
	return out
}

// separators separate the words of a shell line unless quoted.
const separators = " \t\r\n`;|&()<>="

// shellWords splits a line like a shell, without expansion: quotes join a word, and a backslash escapes the next character.
func shellWords(line string) []string {
	var out []string
	var word strings.Builder
	var quote rune
	escaped := false
	flush := func() {
		if word.Len() > 0 {
			out = append(out, word.String())
			word.Reset()
		}
	}
	for _, r := range line {
		switch {
		case escaped:
			escaped = false
			word.WriteRune(r)
		case r == '\\' && quote != '\'':
			escaped = true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote = r
		case quote == 0 && strings.ContainsRune(separators, r):
			flush()
		default:
			word.WriteRune(r)
		}
	}
	flush()
	return out
}
