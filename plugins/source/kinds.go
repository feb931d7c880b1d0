package source

import (
	"context"
	"fmt"
	"slices"

	"github.com/tenonhq/tenon/internal/lazyregexp"
)

// kind is a kind of source: how its references are written, and how it is fetched.
type kind struct {
	name    Kind
	schemes []string // the words before the colon; none for paths
	parse   func(scheme, rest string) (Ref, error)
	fetch   func(f *Fetcher, ctx context.Context, r Ref, out *Fetched, dir string) error
}

// kinds lists the kinds of sources.
func kinds() []kind {
	return []kind{
		{Path, nil, nil, (*Fetcher).path},
		{Archive, []string{"https", "http"}, archiveRef, (*Fetcher).archive},
		{Git, []string{"github", "git+https", "git+http", "git+ssh", "git+file"}, gitRef, (*Fetcher).git},
		{NPM, []string{"npm"}, npmRef, (*Fetcher).npm},
		{OCI, []string{"oci"}, ociRef, (*Fetcher).oci},
		{Go, []string{"go"}, goRef, (*Fetcher).program},
		{MCP, []string{"mcp"}, mcpRef, (*Fetcher).mcp},
	}
}

// kindOf returns the kind with a name, or of the first word of a reference; false without one.
func kindOf(name Kind, scheme string) (kind, bool) {
	for _, k := range kinds() {
		if k.name == name || slices.Contains(k.schemes, scheme) {
			return k, true
		}
	}
	return kind{}, false
}

// formed returns the parser of references whose text after the colon has a form. Its groups are the name and the version.
func formed(name Kind, example, form string) func(scheme, rest string) (Ref, error) {
	compiled := lazyregexp.New("^" + form + "$")
	return func(_, rest string) (Ref, error) {
		m := compiled().FindStringSubmatch(rest)
		if m == nil {
			return Ref{}, fmt.Errorf("want %s:%s", name, example)
		}
		return Ref{Kind: name, URL: m[1], Version: m[2]}, nil
	}
}
