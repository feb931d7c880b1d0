package trust

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/internal/projectfs"
)

// LocalFiles returns the files below root that the words of a command name, such as ./scripts/check.sh, looked for from dir. All paths
// are absolute.
//
// A word may be a whole shell line. It is not run, so directories in it are guessed: a variable or a command substitution is root, dir or
// empty; directories that the line names are searched, too; and a name without extension is tried with the extensions of scripts. Extra
// files do no harm: their changes are shown. Files that no word names, such as files a script sources, are not found; NotCovered tells the
// user.
func LocalFiles(root, dir string, words []string) []string {
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil
	}
	var out, bases []string
	find := func(path string) {
		path, err := filepath.EvalSymlinks(path)
		if err != nil || !projectfs.Inside(root, path) {
			return
		}
		switch info, err := os.Stat(path); {
		case err != nil:
		case info.IsDir() && len(bases) < maxBases && !slices.Contains(bases, path):
			bases = append(bases, path) // the command may change to this directory before it names the next file
		case info.Mode().IsRegular() && !slices.Contains(out, path):
			out = append(out, path)
		}
	}
	for _, line := range words {
		bases = []string{dir}
		for _, path := range namedIn(line) {
			from := bases
			if path[0] == '/' || filepath.IsAbs(path) {
				find(path)
				path = strings.TrimLeft(path, "/") // after a variable
				from = append([]string{root}, bases...)
			}
			for _, base := range from {
				full := filepath.Join(base, path)
				find(full)
				if filepath.Ext(path) == "" && !strings.HasPrefix(path, "-") {
					for _, ending := range scriptEndings {
						find(full + ending)
					}
				}
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

var (
	// shellWord matches a word of a shell line, or a quoted part of one.
	shellWord = lazyregexp.New("\"[^\"]*\"|'[^']*'|(?:\\\\.|[^ \t\r\n`;|&()<>=\"'\\\\])+")
	// variable matches a variable or a command substitution: $NAME, ${NAME:-default}, %NAME%, $(…), `…`.
	variable = lazyregexp.New("\\$[A-Za-z_][A-Za-z0-9_]*|\\$\\{[^}]*\\}|%[A-Za-z_][A-Za-z0-9_]*%|\\$\\([^()]*\\)|`[^`]*`")
)

// namedIn returns the possible paths in a line, in order: its words, and the line itself. A variable in a path is replaced by "/" and by nothing.
func namedIn(line string) (out []string) {
	for _, text := range append(wordsOf(line), line) {
		out = append(out, text)
		if bare := variable().ReplaceAllLiteralString(text, ""); bare != text {
			out = append(out, "/"+bare, bare)
		}
	}
	return slices.DeleteFunc(out, func(path string) bool { return path == "" })
}

// wordsOf returns the words of a line without quotes and backslashes, and the words in quoted ones.
func wordsOf(line string) (out []string) {
	for _, w := range shellWord().FindAllString(line, -1) {
		inner := strings.Trim(w, `"'`)
		out = append(out, inner)
		if bare := strings.ReplaceAll(inner, `\`, ""); bare != inner {
			out = append(out, strings.Trim(bare, `"'`)) // escaped quotes are those of another line
		}
		if inner != w {
			out = append(out, wordsOf(inner)...)
		}
	}
	return out
}
