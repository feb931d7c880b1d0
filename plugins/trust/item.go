package trust

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tenonhq/tenon/sdk"
)

// Kind is the kind of an item.
type Kind string

// The kinds of items.
const (
	KindPlugin Kind = "plugin" // a package, a module or an executable
	KindServer Kind = "mcp"    // an MCP server that the configuration of a repository names
	KindHooks  Kind = "hooks"  // command hooks of the configuration of a repository
)

// Item is a candidate to run.
type Item struct {
	Kind Kind
	Name string
	// Source is its origin: the absolute path of a plugin, links resolved, otherwise of the file that defines it. An approval is valid
	// for one source.
	Source  string
	Digest  Digest
	Version string
	Request Request
}

// same reports whether an entry is about the item. A plugin is identified by its path, since it chooses its name itself.
func (i Item) same(e *Entry) bool {
	return e.Kind == i.Kind && e.Source == i.Source && (i.Kind == KindPlugin || e.Name == i.Name)
}

// Definition is an item that a file defines: an MCP server or a block of command hooks.
type Definition struct {
	Kind    Kind
	Name    string
	Source  string // the absolute path of the file
	Content any    // the decoded definition: the digest covers its canonical JSON
	// Files are the files it starts and depends on; the digest covers their content, too. LocalFiles finds them.
	Files   []string
	Request Request
}

// NewItem takes the digest of a definition.
func NewItem(ctx context.Context, d Definition) (Item, error) {
	content, err := canonical(d.Content)
	if err != nil {
		return Item{}, fmt.Errorf("%s %q of %s: %w", d.Kind, d.Name, d.Source, err)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "tenon definition 1\n%s %q %d\n%s\n", d.Kind, d.Name, len(content), content)
	for _, path := range slices.Sorted(slices.Values(d.Files)) {
		t, err := ReadTree(ctx, path, Limits{})
		if err != nil {
			return Item{}, fmt.Errorf("%s %q of %s: %w", d.Kind, d.Name, d.Source, err)
		}
		fmt.Fprintf(&b, "%q %s\n", path, t.Digest())
	}
	return Item{Kind: d.Kind, Name: d.Name, Source: d.Source, Digest: sum(b.Bytes()), Request: d.Request}, nil
}

// canonical writes JSON with sorted names and without white space.
func canonical(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber() // 1e400 and 12345678901234567890 stay unchanged
	var tree any
	if err := dec.Decode(&tree); err != nil {
		return nil, err
	}
	return json.Marshal(tree)
}

// Granted reports whether every grant was requested, and names the first that was not.
func Granted(asked, granted []sdk.Capability) (missing string, ok bool) {
	for _, g := range granted {
		i := slices.IndexFunc(asked, func(a sdk.Capability) bool { return a.Name == g.Name })
		if i < 0 {
			return g.Name, false
		}
		if len(g.Scope) == 0 && len(asked[i].Scope) > 0 {
			return g.Name + " without a scope", false
		}
		for _, s := range g.Scope {
			if !slices.Contains(asked[i].Scope, s) {
				return g.Name + ": " + s, false
			}
		}
	}
	return "", true
}
