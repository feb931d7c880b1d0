package gitkeep

import (
	_ "embed"
	"strings"
)

// table lists the settings that a command may change.
//
//go:embed harmless.txt
var table string

// Harmless reports whether a setting, whoever wrote it, runs no program, reads no other file and makes git contact no server that the user
// would not see. The key has the form that git prints: section and name in lower case, the part between them unchanged.
func Harmless(key string) bool {
	return listed(key) && !strings.HasSuffix(key, ".promisor") && !strings.HasSuffix(key, ".partialclonefilter") && key != "extensions.partialclone"
}

// listed reports whether a command may change a setting: harmless ones, and those of a partial clone, in which git fetches missing objects
// whenever it reads them.
func listed(key string) bool {
	section, rest, _ := strings.Cut(key, ".")
	name := rest
	if i := strings.LastIndexByte(rest, '.'); i >= 0 {
		name = rest[i+1:]
		section += ".*"
	}
	_, names, known := strings.Cut(table, "\n"+section+": ")
	names, _, _ = strings.Cut(names, "\n")
	return known && (names == "*" || strings.Contains(" "+names+" ", " "+name+" "))
}
