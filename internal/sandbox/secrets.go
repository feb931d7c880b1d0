package sandbox

import (
	_ "embed"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/tenonhq/tenon/internal/projectfs"
)

// table lists the secrets of a home directory.
//
//go:embed secrets.txt
var table string

// secretsIn returns the names that the table lists for a directory.
func secretsIn(dir string) (names []string) {
	for line := range strings.Lines(table) {
		if list, ok := strings.CutPrefix(line, dir+": "); ok {
			for name := range strings.SplitSeq(list, ",") {
				names = append(names, strings.TrimSpace(name))
			}
		}
	}
	return names
}

// secrets hides the secrets of the home directory, files with the names of secrets in its directories, and those that variables name. If HOME
// differs from the home directory of the account, it hides the secrets of both.
func (f *finder) secrets() {
	if home := f.Project.Home; home != "" {
		f.secretsOf(home, inHome)
	}
	if u, err := user.Current(); err == nil && u.HomeDir != f.Project.Home && filepath.Dir(u.HomeDir) != u.HomeDir {
		f.secretsOf(u.HomeDir, account)
	}
	for _, secret := range secretsIn("variables") {
		name, rest, _ := strings.Cut(secret, "/")
		for _, path := range filepath.SplitList(f.lookup(name)) {
			path = filepath.Join(path, rest)
			if _, err := os.Lstat(path); rest != "" && err != nil {
				continue // hiding it would make /usr impossible to list where CARGO_HOME is /usr/local/cargo, as in Rust's images
			}
			if !projectfs.Inside(path, f.Project.Home) && !projectfs.Inside("/dev", path) { // such as HISTFILE=/dev/null, which containers mount over files of /proc
				f.add(Hide, moved, path)
			}
		}
	}
}

func (f *finder) secretsOf(home, origin string) {
	under := func(dir string, names []string) {
		for _, name := range names {
			f.add(Hide, origin, filepath.Join(dir, name))
		}
	}
	under(home, secretsIn("~"))
	places := []string{home}
	for _, dir := range [...]struct{ usual, moved string }{{".config", f.lookup("XDG_CONFIG_HOME")}, {".local/share", f.lookup("XDG_DATA_HOME")}, {".local/state", f.lookup("XDG_STATE_HOME")}} {
		for _, place := range []string{filepath.Join(home, dir.usual), dir.moved} { // add ignores paths that are not absolute
			under(place, secretsIn(dir.usual))
			places = append(places, place)
		}
	}
	known := map[string]bool{}
	for _, name := range secretsIn("any") {
		known[name] = true
		f.add(Hide, origin, filepath.Join(home, name))
	}
	for _, place := range places {
		f.below(place, known)
	}
}

// below hides files with the names of secrets in the directories of place. It does not follow links.
func (f *finder) below(place string, known map[string]bool) {
	entries, _ := os.ReadDir(place) // commands cannot read a directory that tenon cannot read
	for _, e := range entries {
		if !e.IsDir() || known[e.Name()] {
			continue
		}
		dir := filepath.Join(place, e.Name())
		inner, _ := os.ReadDir(dir)
		for _, file := range inner {
			if known[file.Name()] {
				f.add(Hide, deeper, filepath.Join(dir, file.Name()))
			}
		}
	}
}
