package source

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/httpx"
	"github.com/tenonhq/tenon/plugins/manifest"
)

// Kind is the kind of a source.
type Kind string

// The kinds.
const (
	Path    Kind = "path"    // a directory or file of this machine
	Archive Kind = "archive" // a file behind an URL
	Git     Kind = "git"
	NPM     Kind = "npm"
	OCI     Kind = "oci" // an artifact in a registry
	Go      Kind = "go"  // a program of a Go module
	MCP     Kind = "mcp" // a server in a registry of MCP servers
	// Catalogue is a plugin that a marketplace of the user names. Its marketplace returns the reference that is fetched.
	Catalogue Kind = "marketplace"
)

// ErrRef is returned for references that cannot be understood.
var ErrRef = errors.New("invalid plugin reference")

// Ref is a reference to a plugin, as a user writes it.
type Ref struct {
	Kind Kind
	// URL is the address of an archive or a repository, the absolute path of a file or directory, the name of an npm package, or that of a
	// plugin in a marketplace.
	URL    string
	Subdir string // the plugin's directory in a repository, with slashes; empty: the root
	// Version is a branch or tag of a repository, a range of an npm package, or the name of a marketplace; empty: the default branch, the
	// latest version.
	Version string
	Commit  string // of a repository, 40 or 64 hexadecimal digits; empty: not given
	SHA256  string // of an archive, 64 hexadecimal digits; empty: not given
}

// Forms lists the accepted forms, for the remedy of ErrRef.
const Forms = `./directory, ./file.tar.gz|.zip|.wasm|.mcpb, https://….tar.gz|.tgz|.zip|.wasm|.mcpb[#sha256=…], github:owner/repo[/dir][@ref|#commit], ` +
	`git+https://…[//dir][@ref|#commit], git+ssh://…, npm:package[@range], oci://registry/repository[:tag|@digest], go:module/command[@version], mcp:name[@version], name@marketplace`

// IsRef reports whether a text has the form of a reference to a remote source. Paths and names of installed plugins have not.
func IsRef(text string) bool {
	scheme, rest, ok := strings.Cut(text, ":")
	if _, known := kindOf("", scheme); ok {
		return known && rest != ""
	}
	_, _, ok = catalogued(text)
	return ok
}

// catalogued splits the name of a plugin and that of its marketplace.
func catalogued(text string) (name, marketplace string, ok bool) {
	name, marketplace, ok = strings.Cut(text, "@")
	return name, marketplace, ok && ValidEntry(name) && ValidEntry(marketplace)
}

// ValidEntry reports whether a text can be the name of a marketplace, or of a plugin in it: 1 to 100 letters, digits, "-", "_" and ".", a
// letter or digit first.
func ValidEntry(s string) bool {
	return githubName(s) && s[0] != '.' && s[0] != '_'
}

// Parse reads a reference. Relative paths start at base, and ~ is home.
func Parse(text, base, home string) (Ref, error) {
	wrong := func(format string, args ...any) (Ref, error) {
		return Ref{}, fmt.Errorf("%w %q: %s", ErrRef, text, fmt.Sprintf(format, args...))
	}
	scheme, rest, ok := strings.Cut(text, ":")
	k, known := kindOf("", scheme)
	switch {
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return wrong("control characters")
	case !IsRef(text) && (filepath.IsAbs(text) || strings.HasPrefix(text, ".") || strings.HasPrefix(text, "~/")):
		return localRef(text, base, home), nil
	case !ok && IsRef(text):
		name, market, _ := catalogued(text)
		return Ref{Kind: Catalogue, URL: name, Version: market}, nil
	case !ok:
		return wrong("neither a path, which begins with ./, nor a known scheme")
	case !known:
		return wrong("unknown scheme %q", scheme)
	}
	r, err := k.parse(scheme, rest)
	if err != nil {
		return wrong("%v", err)
	}
	return r, nil
}

func localRef(text, base, home string) Ref {
	switch {
	case strings.HasPrefix(text, "~/"):
		text = filepath.Join(home, text[2:])
	case !filepath.IsAbs(text):
		text = filepath.Join(base, text)
	}
	return Ref{Kind: Path, URL: filepath.Clean(text)}
}

// splitVersion splits "x@ref" and "x#commit". In an URL, only what follows the path counts: user@host stays.
func splitVersion(s string) (rest, version, commit string, err error) {
	rest, commit, hash := strings.Cut(s, "#")
	if hash && !isCommit(commit) {
		return "", "", "", errors.New("the part after # is not a full commit")
	}
	start := 0
	if at := strings.Index(rest, "://"); at >= 0 {
		start = at + 3
		if slash := strings.IndexByte(rest[start:], '/'); slash >= 0 {
			start += slash
		}
	}
	if at := strings.IndexByte(rest[start:], '@'); at >= 0 {
		rest, version = rest[:start+at], rest[start+at+1:]
		if !isBranch(version) {
			return "", "", "", fmt.Errorf("%q is not a branch or tag", version)
		}
	}
	return rest, version, commit, nil
}

// isBranch reports whether a text can be a branch or tag, and not an option of git or a range of commits.
func isBranch(s string) bool {
	return s != "" && !strings.HasPrefix(s, "-") && !strings.ContainsAny(s, " ~^:?*[\\#") && !strings.Contains(s, "..")
}

func isCommit(s string) bool { return (len(s) == 40 || len(s) == 64) && isHex(s) }

// isHex reports whether a text consists of hexadecimal digits, in lower case.
func isHex(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil && strings.ToLower(s) == s
}

// cleanSubdir checks the directory of a plugin in a repository.
func cleanSubdir(dir string) (string, error) {
	dir = strings.TrimSuffix(dir, "/")
	if dir == "" {
		return "", nil
	}
	if path.Clean(dir) != dir || !filepath.IsLocal(dir) || strings.ContainsAny(dir, `\:@#`) || strings.Contains(dir, "//") {
		return "", fmt.Errorf("%q is not a directory of the repository", dir)
	}
	return dir, nil
}

func githubRef(rest string) (Ref, error) {
	name, version, commit, err := splitVersion(rest)
	if err != nil {
		return Ref{}, err
	}
	f := strings.SplitN(name, "/", 3)
	if len(f) < 2 || !githubName(f[0]) || !githubName(strings.TrimSuffix(f[1], ".git")) {
		return Ref{}, errors.New("want github:owner/repo")
	}
	r := Ref{Kind: Git, URL: "https://github.com/" + f[0] + "/" + strings.TrimSuffix(f[1], ".git"), Version: version, Commit: commit}
	if len(f) == 3 {
		r.Subdir, err = cleanSubdir(f[2])
	}
	return r, err
}

func githubName(s string) bool {
	return s != "" && s != "." && s != ".." && len(s) <= 100 && strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789-_.") == "" && s[0] != '-'
}

func gitRef(scheme, rest string) (Ref, error) {
	if scheme == "github" {
		return githubRef(rest)
	}
	text, version, commit, err := splitVersion(strings.TrimPrefix(scheme, "git+") + ":" + rest)
	if err != nil {
		return Ref{}, err
	}
	subdir := ""
	start := strings.Index(text, "://") + 3
	if at := strings.Index(text[start:], "//"); at > 0 {
		text, subdir = text[:start+at], text[start+at+2:]
	}
	return GitRef(text, subdir, version, commit)
}

// GitRef returns the reference of a directory in a repository, with the fields as in Ref. The error names the invalid field.
func GitRef(address, subdir, version, commit string) (Ref, error) {
	r := Ref{Kind: Git, URL: address, Version: version, Commit: commit}
	u, err := url.Parse(address)
	if err != nil {
		return r, err
	}
	if r.Subdir, err = cleanSubdir(subdir); err != nil {
		return r, err
	}
	switch {
	case commit != "" && !isCommit(commit):
		return r, fmt.Errorf("%q is not a full commit", commit)
	case version != "" && !isBranch(version):
		return r, fmt.Errorf("%q is not a branch or tag", version)
	case !slices.Contains([]string{"https", "http", "ssh", "file"}, u.Scheme):
		return r, fmt.Errorf("unknown scheme %q", u.Scheme)
	case u.Scheme == "file" && (u.Host != "" || u.Path == ""), u.Scheme != "file" && (u.Host == "" || u.Path == "" || u.Path == "/"):
		return r, errors.New("an address of a repository is missing")
	case strings.HasPrefix(u.Host, "-"), strings.HasPrefix(u.Path, "/-"):
		return r, errors.New("an address must not begin with -")
	case u.Scheme != "ssh" && u.User != nil:
		return r, errors.New("an address must not contain a password; git asks your credential helper")
	case u.Fragment != "" || strings.Contains(u.Path, "@") || strings.Contains(u.Path, "//"):
		return r, errors.New("an address must not contain #, @ or // after the host")
	}
	return r, errors.Join(secure(u), manifest.CheckSpelling(u))
}

// secure refuses plain http except on this machine.
func secure(u *url.URL) error {
	if u.Scheme == "http" && !httpx.Loopback(u.Hostname()) {
		return errors.New("http is not encrypted; use https")
	}
	return nil
}

func archiveRef(scheme, rest string) (Ref, error) {
	address, fragment, hash := strings.Cut(scheme+":"+rest, "#")
	r := Ref{Kind: Archive, URL: address}
	if sum, ok := strings.CutPrefix(fragment, "sha256="); ok && len(sum) == 64 && isCommit(sum) {
		r.SHA256 = sum
	} else if hash {
		return r, errors.New("the part after # is not sha256= and 64 hexadecimal digits")
	}
	if _, err := FileRef(address); err != nil {
		return r, err
	}
	if u, err := url.Parse(address); err != nil || formatOf(u.EscapedPath()) == "" { // as a fetch reads it
		return r, errors.New("the path must end in .tar.gz, .tgz, .zip, .mcpb or .wasm; of a git repository write git+https://")
	}
	return r, nil
}

// FileRef returns the reference of any file behind an URL.
func FileRef(address string) (Ref, error) {
	r := Ref{Kind: Archive, URL: address}
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return r, err
	case u.Host == "" || u.User != nil:
		return r, errors.New("want https://host/path")
	}
	return r, errors.Join(secure(u), manifest.CheckSpelling(u))
}

// npmRef reads what follows "npm:". The version is a range or a tag.
var npmRef = formed(NPM, "package or npm:package@range", `((?:@[a-z0-9._~-]+/)?[A-Za-z0-9_~-][A-Za-z0-9._~-]*)(?:@(.+))?`)

// String returns the reference as Parse reads it. Paths are absolute.
func (r Ref) String() string {
	text := r.URL
	switch r.Kind {
	case Git:
		if repo, ok := strings.CutPrefix(text, "https://github.com/"); ok && strings.Count(repo, "/") == 1 {
			text = "github:" + repo
			if r.Subdir != "" {
				text += "/" + r.Subdir
			}
		} else if text = "git+" + text; r.Subdir != "" {
			text += "//" + r.Subdir
		}
	case OCI:
		return ociText(r)
	case NPM, Go, MCP:
		text = string(r.Kind) + ":" + text
	}
	if r.Version != "" {
		text += "@" + r.Version
	}
	if r.Commit != "" {
		text += "#" + r.Commit
	}
	if r.SHA256 != "" {
		text += "#sha256=" + r.SHA256
	}
	return text
}

// Host returns the host and port that a fetch contacts first; empty for paths, and for Go modules, which come from the user's proxy. Of npm
// and of MCP servers it is the npm registry's.
func (r Ref) Host(registry string) string {
	text := r.URL
	switch r.Kind {
	case Path, Go, Catalogue:
		return ""
	case NPM, MCP:
		text = registry
	case OCI:
		text = "https://" + r.URL
	}
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	return u.Host
}

// formatOf returns the format of a file by its name: "tar.gz", "zip", "wasm", "mcpb"; empty if unknown.
func formatOf(name string) string {
	name = strings.ToLower(name)
	for _, f := range []struct{ suffix, format string }{{".tar.gz", "tar.gz"}, {".tgz", "tar.gz"}, {".zip", "zip"}, {".wasm", "wasm"}, {".mcpb", formatBundle}, {".dxt", formatBundle}} {
		if strings.HasSuffix(name, f.suffix) {
			return f.format
		}
	}
	return ""
}
