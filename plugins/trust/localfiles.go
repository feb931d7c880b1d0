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
// A word may be a whole line of a shell. It is not run, so what stands for a directory in it is guessed: a variable or a command
// substitution is root, dir or nothing, what cd names is looked in, too, and a name without its extension is looked for with those of
// scripts. A file more than the command starts does no harm: its change is asked about. Files that no word names, such as what a script
// sources, are not found; NotCovered says so to the user.
func LocalFiles(root, dir string, words []string) []string {
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil
	}
	var out []string
	add := func(candidate string) bool {
		path, err := filepath.EvalSymlinks(candidate)
		if err != nil {
			return false
		}
		rel, err := filepath.Rel(root, path)
		info, statErr := os.Stat(path)
		if err != nil || !filepath.IsLocal(rel) || statErr != nil || !info.Mode().IsRegular() {
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

// NotCovered says of which files a change is not noticed after commands were approved with the files that LocalFiles finds.
const NotCovered = "files that they reach in other ways (globs, make, npm, python -m, files that scripts source or import): a change of those is not noticed"

// scriptEndings are what interpreters add to a name: node to that of a module, the others by custom.
var scriptEndings = []string{".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".py", ".rb", ".sh", "/index.js", "/index.mjs", "/package.json", "/__main__.py"}

// maxBases bounds the directories in which the files of one command are looked for.
const maxBases = 8

// appendDirectory adds a directory that a command names: it may go there before it starts the next file.
func appendDirectory(bases []string, path string) []string {
	if info, err := os.Stat(path); err != nil || !info.IsDir() || len(bases) == maxBases || slices.Contains(bases, filepath.Clean(path)) {
		return bases
	}
	return append(bases, filepath.Clean(path))
}

// substitution is a command in a line whose output a shell puts in its place: $(…), `…`.
var substitution = regexp.MustCompile("\\$\\([^()]*\\)|`[^`]*`")

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
	replaced := substitution.ReplaceAllLiteralString(line, "${output}")
	for _, word := range slices.Concat(shellWords(replaced), shellWords(line), pieces, []string{line}) {
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
