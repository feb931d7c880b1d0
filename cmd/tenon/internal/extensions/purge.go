package extensions

import (
	"context"
	"errors"
	"os"

	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/internal/credentials"
	"github.com/tenonhq/tenon/plugins"
)

// Stored lists what a plugin leaves on this machine. A later plugin of its name in the same lock file would have it.
type Stored struct {
	Dir    string   // of its data; empty: none
	Tokens []string // names of stored sign-ins, of its methods and of its MCP servers
	store  *credentials.Store
}

// Empty reports whether the plugin left nothing.
func (s *Stored) Empty() bool { return s.Dir == "" && len(s.Tokens) == 0 }

// Delete deletes the data and the sign-ins.
func (s *Stored) Delete(ctx context.Context) error {
	var err error
	if s.Dir != "" {
		err = child.RemoveAll(s.Dir)
	}
	for _, name := range s.Tokens {
		err = errors.Join(err, s.store.Delete(ctx, name))
	}
	return err
}

// Stored returns what an installed plugin has stored, without sign-ins if the error is about their file. Its servers are known only before
// it is removed.
func (s *Set) Stored(in *plugins.Installed) (*Stored, error) {
	out := &Stored{store: s.credentials()}
	dir, owner := s.loader.Stored(in)
	if _, err := os.Stat(dir); err == nil {
		out.Dir = dir
	}
	list, err := out.store.All()
	for name, c := range list {
		if c.Plugin == owner {
			out.Tokens = append(out.Tokens, name)
		}
	}
	for _, c := range s.Candidates {
		if c.pack != in.Name || c.Server == nil || c.Server.Data != dir {
			continue // the server of another plugin, which may have the same name in another lock file
		}
		if name, _ := s.tokenName(c); name != "" {
			out.Tokens = append(out.Tokens, name)
		}
	}
	return out, err
}
