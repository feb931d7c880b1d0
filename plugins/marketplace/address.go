package marketplace

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/httpx"
	"github.com/tenonhq/tenon/plugins/source"
)

// places are where repositories have their catalogue, most specific first.
var places = []string{".claude-plugin/marketplace.json", ".agents/plugins/marketplace.json", ".cursor-plugin/marketplace.json", "marketplace.json"}

// address parses the address of a marketplace: a path, owner/repo, the URL of a repository or of a marketplace.json, a reference of a
// repository.
func (s *Store) address(text, dir string) (source.Ref, error) {
	u, err := url.Parse(text)
	switch {
	case err == nil && strings.HasSuffix(u.Path, ".json") && (u.Scheme == "https" || u.Scheme == "http"):
		r, err := source.FileRef(text)
		if err != nil {
			err = fmt.Errorf("%w %q: %w", source.ErrRef, text, err)
		}
		return r, err
	case err == nil && slices.Contains([]string{"https", "http", "ssh", "file"}, u.Scheme):
		text = "git+" + text
	case !source.IsRef(text) && !strings.ContainsAny(text[:min(1, len(text))], "./~"):
		text = shorthand(text)
	}
	r, err := source.Parse(text, dir, s.Home)
	if err == nil && r.Kind != source.Path && r.Kind != source.Git {
		err = fmt.Errorf("%w %q: a plugin, not a marketplace", source.ErrRef, text)
	}
	return r, err
}

// shorthand returns owner/repo[@ref] and user@host:path as references; other texts are returned as they are.
func shorthand(text string) string {
	name, _, _ := strings.Cut(text, "@")
	switch {
	case repository(text) != text && strings.Contains(text, ":"):
		return "git+" + repository(text)
	case strings.Count(name, "/") == 1:
		return "github:" + text
	}
	return text
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
	dir := filepath.Dir(file)
	for _, place := range places {
		if parent, ok := strings.CutSuffix(filepath.ToSlash(file), "/"+place); ok {
			return filepath.FromSlash(parent)
		}
	}
	return dir
}

// local reports whether an address is on this machine.
func local(r source.Ref) bool {
	u, err := url.Parse(r.URL)
	return err == nil && (r.Kind == source.Path || u.Scheme == "file" || httpx.Loopback(u.Hostname()))
}
