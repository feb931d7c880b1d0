package extensions

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/atomicfile"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/mcp"
	"github.com/tenonhq/tenon/plugins/trust"
)

// ServerLock is the file of a project that pins its MCP servers. It approves nothing: a server that differs from it cannot be approved.
const ServerLock = "tenon.mcp.lock"

// ErrLocked is wrapped by errors about servers that differ from the project's lock.
var ErrLocked = errors.New("differs from " + ServerLock)

// serverLock is the content of the file.
type serverLock struct {
	Version int                   `json:"version"` // 1
	Servers map[string]*serverPin `json:"servers"`
}

// serverPin pins a server.
type serverPin struct {
	// Definition is the SHA-256 of the server's configuration and of the project's files that it names.
	Definition string `json:"definition"`
	// Offers is the SHA-256 of its tools, prompts, interceptors and instructions.
	Offers string `json:"offers"`
}

func (s *Set) lockPath() string { return filepath.Join(s.opts.Project.Worktree, ServerLock) }

func decodeLock(data []byte) (*serverLock, error) {
	l := &serverLock{}
	if err := json.Unmarshal(data, l); err != nil {
		return nil, fmt.Errorf("%s: %w; write it again with tenon mcp lock", ServerLock, err)
	}
	if l.Version != 1 {
		return nil, fmt.Errorf("%s: version %d, want 1; it may need a newer tenon", ServerLock, l.Version)
	}
	return l, nil
}

// pin returns the entry of a project's server in the project's lock; nil without one.
func (s *Set) pin(c *Candidate) (*serverPin, error) {
	if !c.Project || c.Server == nil {
		return nil, nil
	}
	data, err := projectfs.ForProject(s.opts.Project).Read(s.lockPath(), MaxServerFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.lockPath(), err)
	}
	l, err := decodeLock(data)
	if err != nil {
		return nil, err
	}
	return l.Servers[c.Name], nil
}

// checkDefinition returns an error if the configuration of a server is not the one in the project's lock.
func (s *Set) checkDefinition(ctx context.Context, c *Candidate) error {
	p, err := s.pin(c)
	if err != nil || p == nil {
		return err
	}
	now, err := s.definitionSum(ctx, c)
	if err == nil && now != p.Definition {
		err = fmt.Errorf("the configuration of MCP server %q, or a file it names, %w", c.Name, ErrLocked)
	}
	return err
}

// checkOffers returns an error if a server does not offer what is in the project's lock.
func (s *Set) checkOffers(c *Candidate, offered *mcp.Definition) error {
	p, err := s.pin(c)
	if err == nil && p != nil && offered.Sum() != p.Offers {
		err = fmt.Errorf("the tools or other items of MCP server %q: %w", c.Name, ErrLocked)
	}
	return err
}

// definitionSum returns the hash of what a server is started with. It is the same on every machine.
func (s *Set) definitionSum(ctx context.Context, c *Candidate) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "tenon mcp lock 1\n%s\n", c.Server.Definition())
	for _, path := range slices.Sorted(slices.Values(c.files)) {
		rel, err := filepath.Rel(s.opts.Project.Worktree, path)
		if err != nil {
			return "", err
		}
		tree, err := trust.ReadTree(ctx, path)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%q %s\n", filepath.ToSlash(rel), tree.Digest())
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(b.String()))), nil
}

// WriteLock pins the approved servers of the project as they are now, and returns their names. It starts each of them. The other servers of
// the project keep their pins. Without any pin, it does not create the file.
func (s *Set) WriteLock(ctx context.Context) ([]string, error) {
	l := serverLock{Version: 1, Servers: map[string]*serverPin{}}
	var names []string
	for _, c := range s.Candidates {
		if !c.mayStart() {
			if pinned, err := s.pin(c); err == nil && pinned != nil { // a damaged lock has no pins
				l.Servers[c.Name] = pinned
			}
			continue
		}
		if !c.Project {
			continue
		}
		definition, err := s.definitionSum(ctx, c)
		if err != nil {
			return nil, err
		}
		offered, err := s.Offered(ctx, c)
		if err != nil {
			return nil, err
		}
		l.Servers[c.Name] = &serverPin{definition, offered.Sum()}
		names = append(names, c.Name)
	}
	if _, err := os.Lstat(s.lockPath()); len(l.Servers) == 0 && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	data, _ := json.MarshalIndent(&l, "", "  ")                                                       // texts and a number always encode
	return names, atomicfile.Write(s.lockPath(), append(data, '\n'), atomicfile.Options{Mode: 0o644}) // it may be committed
}
