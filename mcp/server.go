package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/sdk"
)

// ErrConfig is wrapped by every error about the configuration of a server.
var ErrConfig = errors.New("bad MCP server configuration")

// DefaultTimeout bounds a request to a server whose configuration does not say otherwise.
const DefaultTimeout = 30 * time.Second

// Transport is how a server is reached.
type Transport string

// The transports.
const (
	TransportStdio Transport = "stdio"
	TransportHTTP  Transport = "http" // streamable HTTP; servers that do not know it are tried over SSE
	TransportSSE   Transport = "sse"  // the transport that streamable HTTP replaced
)

// Server is the configuration of one server, with variables already replaced (but those of Root and Data).
type Server struct {
	Name      string
	Transport Transport

	// Of a server that runs here. Env is all it gets beside PATH, HOME, the locale and the like.
	Command string
	Args    []string
	Env     map[string]string
	Cwd     string // default: Root, else the folder of Origin, else (Own) the directory where tenon was started

	// Of a server elsewhere. Headers go to the origin of URL alone.
	URL     string
	Headers map[string]string

	// Timeout bounds each request, and the wait for a server that starts. Zero means DefaultTimeout. Progress of a call starts it anew.
	Timeout time.Duration
	// Hooks are tools of the server that are called at hook points.
	Hooks []sdk.MCPHookConfig

	// Origin is the file that configured the server, for people.
	Origin string
	// Own says that the user configured the server: what it offers when it is first used counts as approved.
	Own bool
	// Root and Data are set for a server of a plugin package: ${PLUGIN_ROOT} and ${PLUGIN_DATA} in Args, Env and Cwd stand for them, the
	// server gets both in its environment, and Command and Cwd stay inside of Root.
	Root, Data string

	written *Server // before variables were replaced; nil: the same
}

// Validate checks the configuration. Errors wrap ErrConfig and name the server and the field.
func (s *Server) Validate() error {
	problem := s.problem()
	if problem == nil {
		return nil
	}
	where := ""
	if s.Origin != "" {
		where = s.Origin + ": "
	}
	return fmt.Errorf("%w: %sserver %q: %w", ErrConfig, where, s.Name, problem)
}

func (s *Server) problem() error {
	if strings.TrimSpace(s.Name) == "" {
		return errors.New("it has no name")
	}
	if s.Timeout < 0 {
		return fmt.Errorf("timeout: %s is negative", s.Timeout)
	}
	for i := range s.Hooks {
		if s.Hooks[i].Tool == "" {
			return fmt.Errorf("hooks[%d].tool: is missing; name the tool to call", i)
		}
		d := s.Hooks[i].Description()
		if _, err := hookpoint.Hook(&d, fmt.Sprintf("hooks[%d]", i), nil); err != nil {
			return err
		}
	}
	switch s.Transport {
	case TransportStdio:
		return s.stdioProblem()
	case TransportHTTP, TransportSSE:
		return s.httpProblem()
	}
	return fmt.Errorf("type: unknown transport %q: want stdio, http or sse", s.Transport)
}

func (s *Server) stdioProblem() error {
	if strings.TrimSpace(s.Command) == "" {
		return errors.New("command: is missing")
	}
	for name := range s.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return fmt.Errorf("env: %q is no name of a variable", name)
		}
	}
	for _, text := range slices.Concat([]string{s.Command, s.Cwd}, s.Args, slices.Collect(maps.Values(s.Env))) {
		if strings.ContainsRune(text, 0) {
			return errors.New("a command, argument or variable holds a zero byte")
		}
	}
	return nil
}

func (s *Server) httpProblem() error {
	u, err := url.Parse(s.URL)
	if err != nil {
		return errors.New("url: is malformed") // the text may hold a token
	}
	switch {
	case s.URL == "":
		return errors.New("url: is missing")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("url: want an absolute http or https address")
	case u.User != nil:
		return errors.New("url: holds a user or password; put a token into headers")
	case u.Fragment != "":
		return errors.New("url: must not have a fragment")
	}
	for name, value := range s.Headers {
		if name == "" || strings.ContainsAny(name, " \t\r\n:\x00") || strings.ContainsAny(value, "\r\n\x00") {
			return fmt.Errorf("headers: %q is no valid header", name)
		}
	}
	return nil
}

// PluginName returns the name of the server's plugin: "mcp." and the server's name in lower case, in which what a plugin's name may
// not hold is replaced by a hyphen.
func (s *Server) PluginName() string {
	const prefix, maxName = "mcp.", 64
	var b strings.Builder
	for _, r := range strings.ToLower(s.Name) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' {
			b.WriteRune(r)
			continue
		}
		b.WriteByte('-')
	}
	name := b.String()
	for _, pair := range []struct{ from, to string }{{"--", "-"}, {"..", "."}} {
		for strings.Contains(name, pair.from) {
			name = strings.ReplaceAll(name, pair.from, pair.to)
		}
	}
	name = strings.Trim(name, "-.")
	if name == "" || len(prefix+name) > maxName {
		sum := shortHash([]byte(s.Name))
		name = strings.Trim(strings.TrimRight(name[:min(len(name), maxName-len(prefix)-len(sum)-1)], "-.")+"-"+sum, "-")
	}
	return prefix + name
}

// definition is what trust in a server is about: all that decides what runs, or where data goes.
type definition struct {
	Name      string              `json:"name"`
	Transport Transport           `json:"transport"`
	Command   string              `json:"command,omitempty"`
	Args      []string            `json:"args,omitempty"`
	Env       map[string]string   `json:"env,omitempty"`
	Cwd       string              `json:"cwd,omitempty"`
	URL       string              `json:"url,omitempty"`
	Headers   map[string]string   `json:"headers,omitempty"`
	Hooks     []sdk.MCPHookConfig `json:"hooks,omitempty"`
}

// Definition returns what a user who approves the server approves, in a canonical form to be shown and hashed. Variables stand in it
// by name (${TOKEN}), not by value; what is written out stands in it as it is. What the files hold that the command line names is not
// part of it: who asks about a server that came with a project adds that.
func (s *Server) Definition() []byte {
	w := s
	if s.written != nil {
		w = s.written
	}
	d := definition{
		Name: w.Name, Transport: w.Transport, Command: w.Command, Args: w.Args, Env: w.Env, Cwd: w.Cwd,
		URL: w.URL, Headers: w.Headers, Hooks: w.Hooks,
	}
	text, err := json.Marshal(d)
	if err != nil { // strings and numbers always encode
		return nil
	}
	return text
}

// key names the server's files: its plugin's name, and what tells configurations of one name apart.
func (s *Server) key() string { return s.PluginName() + "-" + shortHash(s.Definition()) }

// Directory returns where the server's command runs: Cwd, which is relative to the file that came with it, or to the project for a
// server of the user.
func (s *Server) Directory(project string) string {
	base := project
	if !s.Own && s.Origin != "" {
		base = filepath.Dir(s.Origin)
	}
	if filepath.IsAbs(s.Cwd) {
		return s.Cwd
	}
	return filepath.Join(base, s.Cwd)
}

// placed returns the server with the variables of its package replaced.
func (s *Server) placed() Server {
	if s.Root == "" {
		return *s
	}
	replace := strings.NewReplacer("${PLUGIN_ROOT}", s.Root, "${PLUGIN_DATA}", s.Data).Replace
	out := *s
	out.Args = make([]string, len(s.Args))
	for i, a := range s.Args {
		out.Args[i] = replace(a)
	}
	out.Env = make(map[string]string, len(s.Env)+2)
	for name, value := range s.Env {
		out.Env[name] = replace(value)
	}
	out.Env["PLUGIN_ROOT"], out.Env["PLUGIN_DATA"] = s.Root, s.Data
	if out.Cwd = replace(s.Cwd); out.Cwd == "" {
		out.Cwd = s.Root
	}
	if !filepath.IsAbs(out.Cwd) {
		out.Cwd = filepath.Join(s.Root, out.Cwd)
	}
	if strings.HasPrefix(s.Command, "./") {
		out.Command = filepath.Join(s.Root, s.Command)
	}
	return out
}

// inside reports whether path stands below base, links followed.
func inside(base, path string) bool {
	resolvedBase, err := filepath.EvalSymlinks(base)
	if err != nil {
		return false
	}
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(resolvedBase, resolved)
	return err == nil && filepath.IsLocal(rel)
}

func (s *Server) timeout() time.Duration {
	if s.Timeout == 0 {
		return DefaultTimeout
	}
	return s.Timeout
}

// shortHash tells texts apart in names that people see.
func shortHash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:4])
}
