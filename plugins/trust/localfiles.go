package trust

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// LocalFiles returns the files below root that the words of a command name, such as ./scripts/check.sh, looked for from dir. All paths
// are absolute.
//
// A word may be a whole line of a shell. It is not run, so what stands for a directory in it is guessed: a variable is root, dir or
// nothing, and what cd names is looked in, too. A file more than the command starts does no harm: its change is asked about.
func LocalFiles(root, dir string, words []string) []string {
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil
	}
	var out []string
	add := func(candidate string) {
		path, err := filepath.EvalSymlinks(candidate)
		if err != nil || slices.Contains(out, path) {
			return
		}
		rel, err := filepath.Rel(root, path)
		if info, statErr := os.Stat(path); err == nil && filepath.IsLocal(rel) && statErr == nil && info.Mode().IsRegular() {
			out = append(out, path)
		}
	}
	for _, line := range words {
		bases := []string{dir}
		for _, path := range namedIn(line, root, dir) {
			if filepath.IsAbs(path) {
				add(path)
				bases = appendDirectory(bases, path)
				continue
			}
			for _, base := range bases {
				add(filepath.Join(base, path))
			}
			bases = appendDirectory(bases, filepath.Join(dir, path))
		}
	}
	return out
}

// maxBases bounds the directories in which the files of one command are looked for.
const maxBases = 8

// appendDirectory adds a directory that a command names: it may go there before it starts the next file.
func appendDirectory(bases []string, path string) []string {
	if info, err := os.Stat(path); err != nil || !info.IsDir() || len(bases) == maxBases || slices.Contains(bases, filepath.Clean(path)) {
		return bases
	}
	return append(bases, filepath.Clean(path))
}

// variable is what a shell replaces: $NAME, ${NAME}, ${NAME:-default}; %NAME% on Windows.
var variable = regexp.MustCompile(`\$[A-Za-z_][A-Za-z0-9_]*|\$\{[^}]*\}|%[A-Za-z_][A-Za-z0-9_]*%`)

// namedIn returns what may be a path in a line, each once, in its order: the words as a shell divides the line, their pieces, and the
// line itself; with variables replaced.
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
	for _, word := range slices.Concat(shellWords(line), pieces, []string{line}) {
		add(word)
		if !variable.MatchString(word) {
			continue
		}
		for _, value := range []string{root, dir, ""} {
			path := variable.ReplaceAllLiteralString(word, value)
			add(path)
			add(strings.TrimLeft(path, "/")) // of a variable that is nothing
		}
	}
	return out
}

// separators divide the words of a shell's line, where they are not quoted.
const separators = " \t\r\n`;|&()<>="

// shellWords divides a line as a shell does, without replacing anything: quotes hold a word together, a backslash takes the next
// character as it is.
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
