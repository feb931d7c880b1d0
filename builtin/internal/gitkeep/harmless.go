package gitkeep

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/lazyregexp"
)

// Harmless reports whether a setting runs no program, reads no other file and sends git nowhere that the user would not see. It does
// not matter who wrote it. The key is as git prints it: section and name in lower case, the part between them as written.
func Harmless(key string) bool {
	return listed(key) && !strings.HasSuffix(key, ".promisor") && !strings.HasSuffix(key, ".partialclonefilter") && key != "extensions.partialclone"
}

// listed reports whether a command may change a setting. In addition to what is harmless it may make a partial clone: git then
// fetches missing objects whenever it reads.
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

var (
	remoteURL  = lazyregexp.New(`^remote\.(.+)\.(?:url|pushurl)$`)
	remoteName = lazyregexp.New(`^(?:remote\.pushdefault|branch\..+\.(?:remote|pushremote))$`)
	network    = lazyregexp.New(`^(?:[A-Za-z][A-Za-z0-9+.-]*://|[^/:]+:)`)
)

// Pushes reports whether a setting says where git push goes.
func Pushes(key string) bool { return remoteURL().MatchString(key) || remoteName().MatchString(key) }

// Network reports whether git takes a text for an address of another machine, not for a path: scheme://… and host:path.
func Network(remote string) bool { return network().MatchString(remote) }

// pushesHere reports whether a setting now sends git push to a repository on this machine, whose hooks it runs, or may do so because the name of a
// remote without an address is a path. A submodule that the command made may come from one.
func (r *restorer) pushesHere(path, key string) bool {
	settings, dir := r.now.settings[path], filepath.Dir(path)
	if slices.Contains(r.now.dirs[r.now.own:], dir) && !r.before.same(dir) {
		return false
	}
	remote := func(name string) bool { return len(settings["remote."+name+".url"]) > 0 }
	m := remoteURL().FindStringSubmatch(key)
	if m != nil && !remote(m[1]) {
		return slices.ContainsFunc([]string{r.k.worktree, filepath.Join(dir, "remotes"), filepath.Join(dir, "branches")}, func(base string) bool {
			return stampOf(filepath.Join(base, m[1])) != stamp{}
		})
	}
	return (m != nil || remoteName().MatchString(key)) && slices.ContainsFunc(settings[key], func(value string) bool {
		known := m == nil && (value == "." || remote(value))
		return !known && (!Network(value) || strings.HasPrefix(value, "file:") || strings.Contains(value, "::"))
	})
}

// harmlessKeys are the names by section; ".*" means a subsection, "*" all names. Remote helpers that run commands (ext::) are refused by
// git unless protocol.ext.allow is set, which is not in the list.
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
