package marketplace

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/httpx"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/plugins/source"
)

// ErrSource is returned for an entry whose source tenon does not fetch.
var ErrSource = errors.New("unusable source in the marketplace")

// location is the source of an entry, in the forms of both programs. See
// https://code.claude.com/docs/en/plugin-marketplaces#plugin-sources and https://developers.openai.com/codex/plugins/build.
type location struct {
	Source   string `json:"source"` // path, local, github, url, git-subdir, npm, archive, command
	Repo     string `json:"repo"`
	URL      string `json:"url"`
	Path     string `json:"path"`
	Ref      string `json:"ref"`
	SHA      string `json:"sha"`
	Package  string `json:"package"`
	Version  string `json:"version"`
	Registry string `json:"registry"`
	SHA256   string `json:"sha256"`
}

// base is the place from which relative sources of a catalogue start.
type base struct {
	ref      source.Ref // of the marketplace, with its commit
	registry func(npmPackage string) (source.NPMRegistry, error)
}

// locate returns the reference of an entry's source. Errors wrap ErrSource.
func (c *Catalogue) locate(e *Entry, b base) (source.Ref, error) {
	l, err := c.decodeSource(e.source)
	var r source.Ref
	if err == nil {
		r, err = l.ref(b)
	}
	if err != nil {
		return r, fmt.Errorf("%w %s, plugin %s: %w", ErrSource, c.Name, e.Name, err)
	}
	return r, nil
}

func (c *Catalogue) decodeSource(raw json.RawMessage) (location, error) {
	l := location{Source: "path"}
	if json.Unmarshal(raw, &l.Path) == nil {
		if c.root != "" && l.Path != "." && !strings.HasPrefix(l.Path, "./") {
			l.Path = path.Join(c.root, l.Path)
		}
		return l, nil
	}
	l = location{}
	if err := json.Unmarshal(raw, &l); err != nil {
		return l, fmt.Errorf("source: %w", err)
	}
	if l.Source == "local" || l.Source == "url" && strings.HasPrefix(l.URL, ".") {
		l = location{Source: "path", Path: path.Join(l.URL, l.Path)}
	}
	return l, nil
}

func (l *location) ref(b base) (source.Ref, error) {
	switch l.Source {
	case "path":
		return b.below(l.Path)
	case "github":
		return source.GitRef(repository(l.Repo), "", l.Ref, l.SHA)
	case "url", "git-subdir":
		return source.GitRef(repository(l.URL), clean(l.Path), l.Ref, l.SHA)
	case "npm":
		registry, err := b.registry(l.Package)
		if err != nil {
			return source.Ref{}, err
		}
		if l.Registry != "" && strings.TrimSuffix(l.Registry, "/") != registry.URL {
			return source.Ref{}, fmt.Errorf("its registry %s is not yours; to use it, set NPM_CONFIG_REGISTRY or a scope's registry in your .npmrc", visible.Clean(l.Registry, maxText))
		}
		if l.Version != "" {
			l.Package += "@" + l.Version
		}
		return remote("npm:"+l.Package, source.NPM)
	case "archive":
		if l.SHA256 != "" {
			l.URL += "#sha256=" + strings.ToLower(strings.TrimPrefix(l.SHA256, "sha256:"))
		}
		return remote(l.URL, source.Archive)
	case "command":
		return source.Ref{}, errors.New("it is a command to run, which tenon does not; install the plugin from its directory or repository")
	}
	return source.Ref{}, fmt.Errorf("unknown kind of source %q", visible.Cut(l.Source, maxText, "…"))
}

// remote parses a reference that must be of this kind: the text of an entry cannot select another kind.
func remote(text string, kind source.Kind) (source.Ref, error) {
	r, err := source.Parse(text, "/", "/")
	if err == nil && r.Kind != kind {
		err = fmt.Errorf("%q is not of kind %s", visible.Cut(text, maxText, "…"), kind)
	}
	return r, err
}

// clean returns a directory without "./" and "/" around it. Paths that lead out are not changed: package source refuses them.
func clean(dir string) string {
	dir = strings.Trim(strings.TrimPrefix(dir, "./"), "/")
	if dir == "." {
		return ""
	}
	return dir
}

// below returns the reference of a directory of the marketplace.
func (b base) below(dir string) (source.Ref, error) {
	r := b.ref
	if dir = clean(dir); dir != "" && !filepath.IsLocal(filepath.FromSlash(dir)) {
		return r, fmt.Errorf("path %q leads out of the marketplace", visible.Cut(dir, maxText, "…"))
	}
	switch r.Kind {
	case source.Git:
		return source.GitRef(r.URL, path.Join(r.Subdir, dir), r.Version, r.Commit)
	case source.Path:
		full := filepath.Join(r.URL, filepath.FromSlash(dir))
		if !projectfs.Within(projectfs.Real(r.URL), projectfs.Real(full)) {
			return r, fmt.Errorf("path %q leads out of the marketplace through a link", visible.Cut(dir, maxText, "…"))
		}
		r.URL = full
		return r, nil
	}
	return r, errors.New("its files are next to the catalogue, which was added by the address of one file; add the repository instead")
}

// places lists the paths of catalogues in repositories, most specific first.
var places = []string{".claude-plugin/marketplace.json", ".agents/plugins/marketplace.json", ".cursor-plugin/marketplace.json", "marketplace.json"}

// address parses the address of a marketplace: a path, owner/repo, the URL of a repository or of a marketplace.json, a reference of a
// repository.
func (s *Store) address(text, dir string) (source.Ref, error) {
	u, err := url.Parse(text)
	name, _, _ := strings.Cut(text, "@")
	switch {
	case err == nil && strings.HasSuffix(u.Path, ".json") && (u.Scheme == "https" || u.Scheme == "http"):
		r, err := source.FileRef(text)
		if err != nil {
			err = source.Invalid(text, err)
		}
		return r, err
	case err == nil && slices.Contains([]string{"https", "http", "ssh", "file"}, u.Scheme):
		text = "git+" + text
	case source.IsRef(text) || strings.ContainsAny(text[:min(1, len(text))], "./~"):
	case strings.Contains(text, ":") && repository(text) != text:
		text = "git+" + repository(text)
	case source.ValidEntry(text):
		return source.Ref{}, source.Invalid(text, errors.New("neither owner/repo nor a path, which begins with ./"))
	case strings.Count(name, "/") == 1:
		text = "github:" + text
	}
	r, err := source.Parse(text, dir, s.Home)
	if err == nil && r.Kind != source.Path && r.Kind != source.Git {
		err = source.Invalid(text, errors.New("a plugin, not a marketplace"))
	}
	return r, err
}

// repository returns the URL of a repository that is written as owner/repo, user@host:path, or a URL.
func repository(text string) string {
	text = strings.TrimPrefix(text, "git+")
	if strings.Contains(text, "://") {
		return text
	}
	if host, rest, ok := strings.Cut(text, ":"); ok && strings.Contains(host, "@") && !strings.Contains(host, "/") {
		return "ssh://" + host + "/" + strings.TrimPrefix(rest, "/")
	}
	if strings.Count(text, "/") == 1 {
		return "https://github.com/" + text
	}
	return text
}

// rootOf returns the directory that relative sources start from, for a catalogue that was added by its path.
func rootOf(file string) string {
	for _, place := range places {
		if parent, ok := strings.CutSuffix(filepath.ToSlash(file), "/"+place); ok {
			return filepath.FromSlash(parent)
		}
	}
	return filepath.Dir(file)
}

// local reports whether an address is on this machine.
func local(r source.Ref) bool {
	u, err := url.Parse(r.URL)
	return err == nil && (r.Kind == source.Path || u.Scheme == "file" || httpx.Loopback(u.Hostname()))
}
