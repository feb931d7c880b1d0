package source

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/visible"
)

// MCPRegistry is the default registry of MCP servers, see https://registry.modelcontextprotocol.io/docs.
const MCPRegistry = "https://registry.modelcontextprotocol.io"

// maxServer limits the description of a server, in bytes; common ones have a few kilobytes.
const maxServer = 1 << 20

// ErrServer is returned for MCP servers that cannot be installed.
var ErrServer = errors.New("cannot be installed as a plugin")

// mcpRef parses the text after "mcp:", see the schema of server.json.
var mcpRef = formed(MCP, "NAME, such as mcp:io.github.owner/server", `([A-Za-z0-9.-]+/[A-Za-z0-9._-]+)(?:@([0-9A-Za-z][0-9A-Za-z.+_-]*))?`)

// server is the part of a server.json that decides how the server starts,
// see https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json.
type server struct {
	Name        string          `json:"name"`
	Version     string          `json:"version"`
	Description string          `json:"description,omitempty"`
	Packages    []serverPackage `json:"packages,omitempty"`
	Remotes     []serverRemote  `json:"remotes,omitempty"`
}

type serverPackage struct {
	Type       string           `json:"registryType"`
	Registry   string           `json:"registryBaseUrl,omitempty"`
	Identifier string           `json:"identifier"`
	Version    string           `json:"version,omitempty"`
	SHA256     string           `json:"fileSha256,omitempty"`
	Transport  serverRemote     `json:"transport"`
	Arguments  []serverArgument `json:"packageArguments,omitempty"`
	Variables  []serverArgument `json:"environmentVariables,omitempty"`
}

type serverRemote struct {
	Type    string           `json:"type"`
	URL     string           `json:"url,omitempty"`
	Headers []serverArgument `json:"headers,omitempty"`
}

// serverArgument is an argument, a variable or a header.
type serverArgument struct {
	Type     string `json:"type,omitempty"` // positional or named
	Name     string `json:"name,omitempty"`
	Value    string `json:"value,omitempty"`
	Default  string `json:"default,omitempty"`
	Hint     string `json:"valueHint,omitempty"`
	Required bool   `json:"isRequired,omitempty"`
}

// decodeServer decodes a server.json, alone or in an answer of a registry.
func decodeServer(data []byte) (*server, error) {
	var answer struct {
		Server *server `json:"server"`
		server
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, fmt.Errorf("unexpected description of an MCP server: %w", err)
	}
	s := &answer.server
	if answer.Server != nil {
		s = answer.Server
	}
	if r, err := mcpRef("", s.Name+"@"+s.Version); err != nil || r.URL != s.Name {
		return nil, fmt.Errorf("unexpected description of an MCP server: name %q, version %q", visible.Cut(s.Name, 100, "…"), visible.Cut(s.Version, 100, "…"))
	}
	return s, nil
}

// mcp makes a plugin of an MCP server in a registry: the content of its package, and a manifest that starts it.
func (f *Fetcher) mcp(ctx context.Context, r Ref, out *Fetched, dir string) error {
	pinned := out.Server != nil
	if !pinned {
		var err error
		resource := "/" + url.PathEscape(r.URL) + "/versions/" + url.PathEscape(cmp.Or(r.Version, "latest"))
		if out.Server, err = f.AskRegistry(ctx, resource, maxServer); err != nil {
			return err
		}
	}
	s, err := decodeServer(out.Server)
	if err != nil {
		return err
	}
	if !pinned {
		out.Server = encode(s)
	}
	if s.Name != r.URL || r.Version != "" && r.Version != "latest" && s.Version != r.Version {
		return fmt.Errorf("%w: the description is of %s %s", ErrMismatch, s.Name, s.Version)
	}
	out.Version = s.Version
	b := bundle{Name: path.Base(s.Name), Version: s.Version, Description: s.Description}
	if p, r, err := s.content(); p != nil {
		if err == nil && f.Verify != nil {
			_, err = f.Verify(ctx, &Artifact{Ref: r}) // before any request to that server; remote servers are not signed
		}
		switch {
		case err != nil:
			return err
		case r.Kind == NPM:
			return f.npmServer(ctx, b, *p, out, dir)
		}
		return f.bundleServer(ctx, *p, r, pinned, out, dir)
	}
	var others []string
	for _, p := range s.Packages {
		others = append(others, p.Type+" "+p.Identifier)
	}
	for _, remote := range s.Remotes {
		others = append(others, remote.URL)
		if err := b.connect(remote); err == nil {
			return b.write(dir)
		} else if len(others) == 1 {
			return err
		}
	}
	return fmt.Errorf("%w: it is %s; expected an npm package or a bundle that speaks stdio, or an address", ErrServer, visible.Clean(strings.Join(others, ", "), 300))
}

// AskRegistry requests a resource below the list of servers from the registry of MCP servers, of at most limit bytes.
func (f *Fetcher) AskRegistry(ctx context.Context, resource string, limit int) ([]byte, error) {
	f, release := f.connected()
	defer release()
	base := cmp.Or(strings.TrimRight(f.MCPRegistry, "/"), MCPRegistry)
	return f.get(ctx, base+"/v0.1/servers"+resource, map[string]string{"Accept": "application/json"}, limit)
}

// content returns the package that is installed, and the reference of its content; nil without one.
func (s *server) content() (*serverPackage, Ref, error) {
	at := slices.IndexFunc(s.Packages, func(p serverPackage) bool {
		return (p.Type == "npm" || p.Type == "mcpb") && p.Transport.Type == "stdio"
	})
	if at < 0 {
		return nil, Ref{}, nil
	}
	p := &s.Packages[at]
	text, kind := p.Identifier, Archive
	if p.Type == "npm" {
		text, kind = "npm:"+text, NPM
	}
	r, err := Parse(text, "/", "/")
	if err != nil || r.Kind != kind || r.Version != "" {
		err = fmt.Errorf("%w: %q is not an npm package or the https address of a bundle", ErrServer, visible.Cut(p.Identifier, 200, "…"))
	}
	return p, r, err
}

// Content returns the reference that is fetched: for a pinned MCP server, its package or bundle; for other pins, r.
func (p Pin) Content(r Ref) (Ref, error) {
	if p.Server == nil {
		return r, nil
	}
	s, err := decodeServer(p.Server)
	if err != nil {
		return r, err
	}
	if p, found, err := s.content(); p != nil {
		return found, err
	}
	return r, nil
}

// npmServer installs an npm package with its dependencies, and starts its program with node.
func (f *Fetcher) npmServer(ctx context.Context, b bundle, p serverPackage, out *Fetched, dir string) error {
	if !exactVersion(p.Version) {
		return fmt.Errorf("%w: version %q of %s is not exact", ErrServer, visible.Cut(p.Version, 100, "…"), p.Identifier)
	}
	if base := strings.TrimRight(p.Registry, "/"); base != "" && base != defaultRegistry {
		if registry, err := f.RegistryOf(p.Identifier); err != nil || base != registry.URL {
			return cmp.Or(err, fmt.Errorf("%w: it is in another registry, %s; NPM_CONFIG_REGISTRY or your .npmrc selects the registry", ErrServer, visible.Clean(base, 200)))
		}
	}
	about := encode(map[string]any{"name": "plugin", "private": true, "dependencies": map[string]string{p.Identifier: p.Version}})
	if err := os.WriteFile(filepath.Join(dir, npmManifest), about, 0o644); err != nil {
		return err
	}
	if err := f.npmTree(ctx, out, dir); err != nil {
		return err
	}
	lock, err := readNPMLock(out.Packages, pinBase)
	if err != nil {
		return err
	}
	program, err := lock.program(p.Identifier)
	if err != nil {
		return err
	}
	b.Command, b.Args = "node", []string{rootDirectory + "/" + program}
	if err := b.configure(p); err != nil {
		return err
	}
	return b.write(dir)
}

// bundleServer downloads an MCPB bundle. If a repository names the server, the address is pinned: the user has confirmed its host.
func (f *Fetcher) bundleServer(ctx context.Context, p serverPackage, r Ref, pinned bool, out *Fetched, dir string) error {
	if !isSHA256(p.SHA256) {
		return fmt.Errorf("%w: its bundle has no SHA-256", ErrServer)
	}
	switch {
	case pinned && out.URL != r.URL:
		return fmt.Errorf("%w: the bundle is at %s, but %q is pinned", ErrMismatch, r.URL, out.URL)
	case !pinned && f.Guarded:
		return fmt.Errorf("%w: the bundle is at %s; if you know this host, install the server again with --project", ErrAddress, r.URL)
	}
	file, sum, err := f.download(ctx, r.URL, r.URL, p.SHA256, "")
	if err != nil {
		return err
	}
	out.URL, out.SHA256 = r.URL, sum
	return f.unpack(ctx, file, formatBundle, out, dir)
}

// connect makes the bundle of a server behind an address.
func (b *bundle) connect(r serverRemote) error {
	if !slices.Contains([]string{"streamable-http", "sse"}, r.Type) || strings.Contains(r.URL, "{") {
		return fmt.Errorf("%w: address %q of type %q; add it with tenon mcp add", ErrServer, visible.Cut(r.URL, 200, "…"), visible.Cut(r.Type, 40, "…"))
	}
	b.Type, b.URL, b.Headers = r.Type, r.URL, map[string]string{}
	for _, h := range r.Headers {
		switch value := h.literal(); {
		case value != "":
			b.Headers[h.Name] = value
		case h.Required:
			return fmt.Errorf("%w: it needs the header %q; add it with: tenon mcp add --header", ErrServer, visible.Cut(h.Name, 100, "…"))
		}
	}
	return nil
}

// literal returns the value, or else the default; empty if the user has to set it.
func (a *serverArgument) literal() string {
	for _, text := range []string{a.Value, a.Default} {
		if text != "" && !strings.Contains(text, "{") {
			return text
		}
	}
	return ""
}

// configure adds the arguments and variables of a package. Variables without a value are taken from the user's environment.
func (b *bundle) configure(p serverPackage) error {
	for _, a := range p.Arguments {
		value := a.literal()
		switch {
		case value == "" && a.Type == "named" && a.Value == "" && a.Default == "" && a.Required:
			b.Args = append(b.Args, a.Name) // a switch
		case value == "" && a.Required:
			return fmt.Errorf("%w: it needs the argument %q; add it with: tenon mcp add NAME -- npx -y %s@%s …", ErrServer, visible.Cut(a.Name+a.Hint, 100, "…"), p.Identifier, p.Version)
		case value == "":
		case a.Type == "named":
			b.Args = append(b.Args, a.Name, value)
		default:
			b.Args = append(b.Args, value)
		}
	}
	b.Env = map[string]string{}
	for _, v := range p.Variables {
		if value := v.literal(); value != "" {
			b.Env[v.Name] = value
		} else {
			b.Needs = append(b.Needs, v.Name)
		}
	}
	return nil
}
