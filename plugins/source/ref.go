package source

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/httpx"
	"github.com/tenonhq/tenon/internal/lazyregexp"
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

// ErrRef is returned for invalid references.
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
	SHA256  string // of an archive, or of the manifest in an OCI registry; 64 hexadecimal digits; empty: not given
}

// IsRef reports whether a text has the form of a reference to a remote source. Paths and names of installed plugins do not.
func IsRef(text string) bool {
	scheme, rest, ok := strings.Cut(text, ":")
	if _, known := kindOf("", scheme); ok {
		return known && rest != ""
	}
	_, _, ok = catalogued(text)
	return ok
}

// catalogued splits a reference into the names of the plugin and its marketplace.
func catalogued(text string) (name, marketplace string, ok bool) {
	name, marketplace, ok = strings.Cut(text, "@")
	return name, marketplace, ok && ValidEntry(name) && ValidEntry(marketplace)
}

// ValidEntry reports whether a text can be the name of a marketplace, or of a plugin in it: 1 to 100 letters, digits, "-", "_" and ".", a
// letter or digit first.
func ValidEntry(s string) bool {
	const alphanumeric = "abcdefghijklmnopqrstuvwxyz0123456789"
	lower := strings.ToLower(s)
	return s != "" && len(s) <= 100 && strings.Trim(lower, alphanumeric+"-_.") == "" && strings.Contains(alphanumeric, lower[:1])
}

// Parse reads a reference. Relative paths start at base, and ~ is home.
func Parse(text, base, home string) (Ref, error) {
	r, err := parse(text, base, home)
	if err != nil {
		return Ref{}, Invalid(text, err)
	}
	return r, nil
}

// Invalid returns the error about the text of a reference, which wraps ErrRef and names no password.
func Invalid(text string, err error) error {
	return fmt.Errorf("%w %q: %w", ErrRef, redacted(text), err)
}

// redacted returns an address without its password.
func redacted(address string) string {
	if u, err := url.Parse(address); err == nil && u.User != nil {
		return u.Redacted()
	}
	return address
}

func parse(text, base, home string) (Ref, error) {
	scheme, rest, hasScheme := strings.Cut(text, ":")
	name, market, inCatalogue := catalogued(text)
	switch k, known := kindOf("", scheme); {
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return Ref{}, errors.New("control characters")
	case hasScheme && known:
		return k.parse(scheme, rest)
	case filepath.IsAbs(text):
		return Ref{Kind: Path, URL: filepath.Clean(text)}, nil
	case strings.HasPrefix(text, "."):
		return Ref{Kind: Path, URL: filepath.Join(base, text)}, nil
	case strings.HasPrefix(text, "~/"):
		return Ref{Kind: Path, URL: filepath.Join(home, text[2:])}, nil
	case inCatalogue:
		return Ref{Kind: Catalogue, URL: name, Version: market}, nil
	case hasScheme:
		return Ref{}, fmt.Errorf("unknown scheme %q; for a git repository, write git+https://host/path or git+ssh://user@host/path", scheme)
	}
	if owner, repo, ok := strings.Cut(text, "/"); ok && ValidEntry(owner) && ValidEntry(repo) {
		return Ref{}, fmt.Errorf("neither github:%s, a repository, nor ./%s, a directory", text, text)
	}
	if ValidEntry(text) {
		return Ref{}, fmt.Errorf("neither %s@MARKETPLACE nor ./%s, a path; tenon plugin search %s names its marketplace", text, text, text)
	}
	return Ref{}, errors.New("neither a path, which begins with ./, nor a known scheme")
}

// isHex reports whether a text consists of n hexadecimal digits, in lower case.
func isHex(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789abcdef") == ""
}

func isSHA256(s string) bool { return isHex(s, 64) }

func isCommit(s string) bool { return isHex(s, 40) || isHex(s, 64) }

// The forms of repositories: an address or names, optionally followed by a directory, a branch or tag, and a commit.
var (
	gitForm    = lazyregexp.New(`^git\+([a-z]+:(?://[^/]*)?/[^@#]*?)(?://([^@#]*))?(?:@([^#]+))?(?:#(.+))?$`)
	githubForm = lazyregexp.New(`^github:([\w.][\w.-]*/[\w.][\w.-]*)(?:/([^@#]*))?(?:@([^#]+))?(?:#(.+))?$`)
)

func gitRef(scheme, rest string) (Ref, error) {
	form, address := gitForm, ""
	if scheme == "github" {
		form, address = githubForm, "https://github.com/"
	}
	m := form().FindStringSubmatch(scheme + ":" + rest)
	if m == nil {
		return Ref{}, errors.New("want github:owner/repo[/dir][@ref|#commit] or git+https://host/repo[//dir][@ref|#commit]")
	}
	return GitRef(address+m[1], m[2], m[3], m[4])
}

// GitRef returns the reference of a directory in a repository, with the fields as in Ref. The error names the invalid field.
func GitRef(address, subdir, version, commit string) (Ref, error) {
	r := Ref{Kind: Git, URL: address, Subdir: strings.TrimSuffix(subdir, "/"), Version: version, Commit: commit}
	u, err := parseAddress(address)
	if err != nil {
		return r, err
	}
	_, password := u.User.Password()
	switch {
	case r.Subdir != "" && (path.Clean(r.Subdir) != r.Subdir || !filepath.IsLocal(r.Subdir) || strings.ContainsAny(r.Subdir, `\:@#`)):
		return r, fmt.Errorf("%q is not a directory of the repository", r.Subdir)
	case commit != "" && !isCommit(commit):
		return r, fmt.Errorf("%q is not a full commit", commit)
	case strings.HasPrefix(version, "-") || strings.Contains(version, "..") || strings.ContainsAny(version, " ~^:?*[\\#"):
		// Git would read it as an option or a range of commits.
		return r, fmt.Errorf("%q is not a branch or tag", version)
	case !slices.Contains([]string{"https", "http", "ssh", "file"}, u.Scheme):
		return r, fmt.Errorf("unknown scheme %q", u.Scheme)
	case (u.Scheme == "file") != (u.Host == ""), strings.Trim(u.Path, "/") == "":
		return r, errors.New("an address of a repository is missing")
	case strings.HasPrefix(u.Host, "-"), strings.HasPrefix(u.Path, "/-"):
		return r, errors.New("an address must not begin with -")
	case password, u.Scheme != "ssh" && u.User != nil:
		return r, errors.New("an address must not contain a password; git asks your credential helper")
	case u.Fragment != "" || strings.Contains(u.Path, "@") || strings.Contains(u.Path, "//"):
		return r, errors.New("an address must not contain #, @ or // after the host")
	}
	return r, nil
}

// parseAddress parses the URL of a reference. It refuses spellings that hide a host, and plain http except on this machine.
func parseAddress(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, err
	case u.Scheme == "http" && !httpx.Loopback(u.Hostname()):
		return nil, errors.New("http is not encrypted; use https")
	}
	return u, manifest.CheckSpelling(u)
}

func archiveRef(scheme, rest string) (Ref, error) {
	address, fragment, hash := strings.Cut(scheme+":"+rest, "#")
	sum, named := strings.CutPrefix(fragment, "sha256=")
	if hash && !(named && isSHA256(sum)) {
		return Ref{}, errors.New("the part after # is not sha256= and 64 hexadecimal digits")
	}
	r, err := FileRef(address)
	if u, _ := url.Parse(address); err == nil && formatOf(u.EscapedPath()) == "" { // in the same way as a fetch
		err = errors.New("the path must end in .tar.gz, .tgz, .zip, .mcpb or .wasm; for a git repository, write git+https://")
	}
	r.SHA256 = sum
	return r, err
}

// FileRef returns the reference of any file behind an URL.
func FileRef(address string) (Ref, error) {
	u, err := parseAddress(address)
	if err == nil && (u.Host == "" || u.User != nil) {
		err = errors.New("want https://host/path")
	}
	return Ref{Kind: Archive, URL: address}, err
}

// npmRef parses the text after "npm:". The version is a range or a tag.
var npmRef = formed(NPM, "package or npm:package@range", `((?:@[a-z0-9._~-]+/)?[A-Za-z0-9_~-][A-Za-z0-9._~-]*)(?:@(.+))?`)

// String returns the reference as Parse reads it. Paths are absolute.
func (r Ref) String() string {
	text, version, sum := r.URL, "@", "#sha256="
	switch r.Kind {
	case Git:
		below := "//"
		text = "git+" + text
		short := "github:" + strings.TrimPrefix(r.URL, "https://github.com/")
		if githubForm().MatchString(short) && strings.Count(short, "/") == 1 { // otherwise Parse could not read it
			text, below = short, "/"
		}
		if r.Subdir != "" {
			text += below + r.Subdir
		}
	case OCI:
		text, version, sum = "oci://"+text, ":", "@"+sha256Prefix
	case NPM, Go, MCP:
		text = string(r.Kind) + ":" + text
	}
	if r.Version != "" {
		text += version + r.Version
	}
	if r.Commit != "" {
		text += "#" + r.Commit
	}
	if r.SHA256 != "" {
		text += sum + r.SHA256
	}
	return text
}

// Host returns the host and port that a fetch contacts first; empty for paths, for Go modules, which come from the user's proxy, and for npm
// packages, see RegistryOf.
func (r Ref) Host() string {
	text := map[Kind]string{Archive: r.URL, Git: r.URL, OCI: "https://" + r.URL}[r.Kind]
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	return u.Host
}

// formatOf returns the format of a file by its name: "tar.gz", "zip", "wasm", "mcpb"; empty if unknown.
func formatOf(name string) string {
	name = strings.ToLower(name)
	if strings.HasSuffix(name, ".tar.gz") {
		return "tar.gz"
	}
	return map[string]string{".tgz": "tar.gz", ".zip": "zip", ".wasm": "wasm", ".mcpb": formatBundle, ".dxt": formatBundle}[path.Ext(name)]
}
