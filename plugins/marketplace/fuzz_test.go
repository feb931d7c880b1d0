package marketplace

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/plugins/source"
)

// FuzzDecode checks that what a catalogue names is what its reference says when it is read again from a lock file, and stays in the marketplace.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{
		`{"name": "m", "plugins": [{"name": "a", "source": "./a"}, {"name": "b", "source": {"source": "github", "repo": "o/r", "ref": "v1"}}]}`,
		`{"name": "m", "metadata": {"pluginRoot": "p"}, "plugins": [{"name": "a", "source": "b"}, {"name": "c", "source": {"source": "local", "path": "../x"}}]}`,
		`{"name": "m", "renames": {"a": "b", "b": "a"}, "plugins": [{"name": "u", "source": {"source": "url", "url": "git@h:o/r.git", "path": "d"}, "strict": false, "skills": ["./x"]}]}`,
		`{"name": "m", "plugins": [{"name": "n", "source": {"source": "npm", "package": "@s/p", "version": "^1"}}, {"name": "z", "source": {"source": "archive", "url": "https://h/a.zip"}}]}`,
	} {
		f.Add([]byte(text), []byte(`{"commands": "./c"}`))
	}
	f.Add([]byte(`{"name": "m", "plugins": [{"name": "a", "source": "./a", "mcpServers": null}]}`), []byte(`{"mcpServers": {"s": {}}}`))
	b := base{ref: source.Ref{Kind: source.Git, URL: "https://h/market", Subdir: "top", Commit: strings.Repeat("a", 40)}, registry: (&source.Fetcher{Registry: "https://r"}).RegistryOf}
	f.Fuzz(func(t *testing.T, data, own []byte) {
		c, err := Decode(data)
		if err != nil {
			if !errors.Is(err, ErrCatalogue) {
				t.Errorf("Decode() = %v", err)
			}
			return
		}
		for name := range c.renames {
			if e, err := c.Find(name); (e == nil) == (err == nil) {
				t.Errorf("Find(%q) = %v, %v", name, e, err)
			}
		}
		for _, e := range c.Entries {
			if text, err := e.Manifest(own, true); err == nil && len(text) > 0 && !json.Valid(text) {
				t.Errorf("Manifest() = %s", text)
			}
			r, err := c.locate(&e, b)
			if err != nil {
				if !errors.Is(err, ErrSource) {
					t.Errorf("locate() = %v", err)
				}
				continue
			}
			again, err := source.Parse(r.String(), "/", "/")
			if err != nil || again.String() != r.String() {
				t.Errorf("%s: %+v is written as %q, which is %+v, %v", e.source, r, r.String(), again, err)
			}
			if r.Kind == source.Path || r.URL == b.ref.URL && r.Commit == b.ref.Commit && !strings.HasPrefix(r.Subdir, "top") {
				t.Errorf("%s: %+v", e.source, r)
			}
		}
	})
}
