package gitkeep

import "strings"

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
	names, known := harmlessKeys[section]
	return known && (names == "*" || strings.Contains(" "+names+" ", " "+name+" "))
}

// harmlessKeys lists the names by section; ".*" means a subsection, "*" all names. git refuses remote helpers that run commands (ext::)
// unless protocol.ext.allow is set, which is not in the list.
var harmlessKeys = map[string]string{
	"core": "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol safecrlf quotepath abbrev compression " +
		"loosecompression bigfilethreshold sparsecheckout sparsecheckoutcone commitgraph multipackindex untrackedcache preloadindex protecthfs protectntfs " +
		"whitespace checkstat trustctime longpaths createobject",
	"branch.*":    "remote merge rebase description pushremote vscode-merge-base gh-merge-base",
	"branch":      "autosetupmerge autosetuprebase sort",
	"remote.*":    "url pushurl fetch push tagopt prune prunetags mirror promisor partialclonefilter skipdefaultupdate skipfetchall gh-resolved followremotehead",
	"remote":      "pushdefault",
	"user":        "name email useconfigonly",
	"author":      "name email",
	"committer":   "name email",
	"init":        "defaultbranch",
	"pull":        "rebase ff",
	"push":        "default autosetupremote followtags recursesubmodules useforceifincludes",
	"fetch":       "prune prunetags parallel recursesubmodules writecommitgraph",
	"merge":       "ff conflictstyle renames renamelimit stat log autostash directoryrenames",
	"rebase":      "autosquash autostash updaterefs stat missingcommitscheck abbreviatecommands",
	"rerere":      "enabled autoupdate",
	"diff":        "algorithm renames renamelimit mnemonicprefix noprefix context interhunkcontext wserrorhighlight colormoved colormovedws submodule ignoresubmodules statgraphwidth",
	"log":         "date decorate follow abbrevcommit showroot",
	"status":      "short branch showuntrackedfiles relativepaths submodulesummary renames aheadbehind",
	"tag":         "sort",
	"stash":       "showpatch showstat showincludeuntracked",
	"color":       "*",
	"color.*":     "*",
	"column":      "*",
	"advice":      "*",
	"gc":          "auto autopacklimit pruneexpire reflogexpire reflogexpireunreachable worktreepruneexpire autodetach",
	"maintenance": "auto strategy",
	"pack":        "compression depth window threads windowmemory",
	"index":       "version threads skiphash sparse",
	"feature":     "manyfiles experimental",
	"extensions":  "objectformat worktreeconfig partialclone refstorage noop preciousobjects compatobjectformat relativeworktrees",
	"submodule":   "active recurse fetchjobs",
	"submodule.*": "url active branch ignore fetchrecursesubmodules shallow",
	"lfs":         "repositoryformatversion",
	"lfs.*":       "access locksverify",
	"commit":      "verbose cleanup status",
	"format":      "pretty signoff",
	"i18n":        "commitencoding logoutputencoding",
	"apply":       "whitespace ignorewhitespace",
	"checkout":    "defaultremote workers thresholdforparallelism",
	"worktree":    "guessremote userelativepaths",
	"clone":       "defaultremotename",
	"blame":       "coloring date showemail showroot",
	"gui":         "wmstate geometry",
	"http":        "postbuffer",
	"grep":        "linenumber patterntype extendedregexp column fullname",
}
