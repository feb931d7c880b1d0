package mcp

import (
	"cmp"
	"crypto/sha256"
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
	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/internal/secret"
	"github.com/tenonhq/tenon/mcp/auth"
	"github.com/tenonhq/tenon/sdk"
)

// ErrConfig is wrapped by every error about the configuration of a server.
var ErrConfig = errors.New("bad MCP server configuration")

const (
	// DefaultTimeout is the default timeout of a server's start and of a request, except calls.
	DefaultTimeout = 30 * time.Second
	// DefaultSilence limits the time of a call without progress if the server has no timeout: many tools need minutes and report nothing.
	DefaultSilence = 5 * time.Minute
)

// Transport is the kind of connection to a server.
type Transport string

// The transports.
const (
	TransportStdio Transport = "stdio"
	TransportHTTP  Transport = "http" // streamable HTTP, with SSE as the fallback
	TransportSSE   Transport = "sse"  // the predecessor of streamable HTTP
)

// Server is the configuration of one server, with all variables replaced. Its JSON is what determines which program runs or where data is
// sent; see Definition.
type Server struct {
	Name      string    `json:"name"`
	Transport Transport `json:"transport"`

	// These are for a local server. Env is its environment in addition to PATH, HOME, the locale and similar variables.
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Cwd     string            `json:"cwd,omitempty"` // default: the directory of Origin, else (Own) the directory where tenon was started

	// These are for a remote server. Headers are sent only to the origin of URL.
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	OAuth   auth.Config       `json:"oauth,omitzero"`

	// Hooks lists tools of the server that are called at hook points.
	Hooks []sdk.MCPHookConfig `json:"hooks,omitempty"`

	// Timeout limits each request, and the wait for a starting server. Zero means DefaultTimeout, and DefaultSilence for calls. Progress of a
	// call restarts it.
	Timeout time.Duration `json:"-"`
	// Origin is the file with the server's configuration, for messages.
	Origin string `json:"-"`
	// Own reports whether the user configured the server: its first definition counts as approved.
	Own bool `json:"-"`
	// Disabled reports whether the configuration switches the server off.
	Disabled bool `json:"-"`
	// Root and Data are the directories of the plugin package that the server is part of, PLUGIN_ROOT and PLUGIN_DATA in its environment. See
	// Place.
	Root string `json:"-"`
	Data string `json:"-"`

	written *Server // the configuration before variables were replaced; nil if it has none
}

// Validate checks the configuration, unless the server is disabled. Errors wrap ErrConfig and name the server and the field.
func (s *Server) Validate() error {
	problem := s.problem()
	if problem == nil || s.Disabled {
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
			return fmt.Errorf("hooks[%d].tool: missing; set it to the tool to call", i)
		}
		if _, err := hookpoint.Hook(&s.Hooks[i].HookDescription, fmt.Sprintf("hooks[%d]", i), nil); err != nil {
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
		return errors.New("command: missing")
	}
	for name := range s.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return fmt.Errorf("env: invalid variable name %q", name)
		}
	}
	for _, text := range slices.Concat([]string{s.Command, s.Cwd}, s.Args, slices.Collect(maps.Values(s.Env))) {
		if strings.ContainsRune(text, 0) {
			return errors.New("a command, argument or variable contains a zero byte")
		}
	}
	return nil
}

func (s *Server) httpProblem() error {
	u, err := url.Parse(s.URL)
	if err != nil {
		return errors.New("url: malformed") // the text may contain a token
	}
	switch {
	case s.URL == "":
		return errors.New("url: missing")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("url: want an absolute http or https URL")
	case u.User != nil:
		return errors.New("url: contains a user or password; put a token into headers")
	case u.Fragment != "":
		return errors.New("url: must not have a fragment")
	}
	if err := s.OAuth.Check(); err != nil {
		return err
	}
	for name, value := range s.Headers {
		if name == "" || strings.ContainsAny(name, " \t\r\n:\x00") || strings.ContainsAny(value, "\r\n\x00") {
			return fmt.Errorf("headers: invalid header %q", name)
		}
	}
	return nil
}

// PluginName returns the name of the server's plugin: "mcp." and the server's name in lower case, with hyphens instead of characters
// that are not allowed.
func (s *Server) PluginName() string {
	const prefix, maxName = "mcp.", 64
	name := notInPluginName().ReplaceAllString(strings.ToLower(s.Name), "-")
	name = strings.Trim(dots().ReplaceAllString(name, "."), "-.")
	if name == "" || len(prefix+name) > maxName {
		sum := shortHash([]byte(s.Name))
		name = strings.Trim(strings.TrimRight(name[:min(len(name), maxName-len(prefix)-len(sum)-1)], "-.")+"-"+sum, "-")
	}
	return prefix + name
}

var (
	notInPluginName = lazyregexp.New(`[^a-z0-9.]+`)
	dots            = lazyregexp.New(`\.{2,}`)
)

// Grant adds variables to the environment of a local server. With expand, it also replaces ${NAME} and ${NAME:-default} by their values,
// except in Command, Cwd and URL, which were approved verbatim; the error names a variable that is missing. The values are not part of the
// server's definition: they may be secrets, and they change.
func (s *Server) Grant(env map[string]string, expand bool) error {
	if len(env) == 0 && !expand {
		return nil
	}
	s.keepWritten()
	if expand {
		expanded, err := s.expand(func(name string) (string, bool) {
			if name == "PLUGIN_ROOT" || name == "PLUGIN_DATA" {
				return "${" + name + "}", true // the caller of Place replaces these
			}
			value, ok := env[name]
			return value, ok
		}, false)
		if err != nil {
			return err
		}
		*s = expanded
	}
	s.Env = maps.Clone(s.Env)
	if s.Env == nil {
		s.Env = map[string]string{}
	}
	maps.Copy(s.Env, env)
	return nil
}

// Definition returns the part of the configuration that the user approves, in a canonical form for display and hashing. It contains the
// names of variables (${TOKEN}), not their values; other text is unchanged. The content of files on the command line is not
// part of it: for a server of a project, the caller adds that.
func (s *Server) Definition() []byte {
	text, _ := json.Marshal(s.Written()) // strings and numbers always encode
	return text
}

// Written returns the configuration before variables were replaced.
func (s *Server) Written() *Server {
	if s.written != nil {
		return s.written
	}
	return s
}

// Taken returns the names of the variables that were replaced.
func (s *Server) Taken() (names []string) {
	if s.written == nil {
		return nil
	}
	for _, reference := range variable().FindAllString(string(s.Definition()), -1) {
		name, _, _ := strings.Cut(reference[2:len(reference)-1], ":-")
		names = append(names, name)
	}
	return names
}

// TokenScope identifies the definition that tokens are issued for: only the server of a project or a package for which a token was issued
// can use it. Packages with the same name differ in their data directory. It is empty for the user's own servers.
func (s *Server) TokenScope() string {
	if s.Own && s.Root == "" {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256(append(s.Definition(), s.Origin+s.Data...)))
}

// key is the name of the server's files: its plugin's name, and a hash of the configuration.
func (s *Server) key() string { return s.PluginName() + "-" + shortHash(s.Definition()) }

// Directory returns the working directory of the server's command: Cwd, relative to the file of its configuration, or to the project
// for a server of the user.
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

// Place replaces a package's entry, after Grant, by the command to start: variables are replaced, and paths are absolute and checked. The
// definition of the server does not change.
func (s *Server) Place(command string, args []string, env map[string]string, cwd string) {
	s.keepWritten()
	s.Command, s.Args, s.Env, s.Cwd = command, args, env, cwd
}

func (s *Server) keepWritten() {
	if s.written == nil {
		written := *s
		s.written = &written
	}
}

// Limit returns the timeout of the server's start and of each request.
func (s *Server) Limit() time.Duration { return cmp.Or(s.Timeout, DefaultTimeout) }

// Mask returns text with the secrets in the server's configuration masked.
func (s *Server) Mask(text string) string { return secret.Hide(text, s.secrets()) }

// secrets returns the secrets: values of variables and headers, and secrets in the arguments and the URL;
// longest first.
func (s *Server) secrets() []string {
	all := append(secret.InArgs(s.Args), secret.InURL(s.URL)...)
	all = slices.AppendSeq(all, maps.Values(s.Env))
	for _, value := range s.Headers {
		_, credential, _ := strings.Cut(value, " ")
		all = append(all, value, credential)
	}
	all = slices.DeleteFunc(all, func(v string) bool { return len(v) < secret.MinLength || filepath.IsAbs(v) })
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return slices.Compact(all)
}

// LogPath returns the log of a server: its standard error, and the invalid lines of its output. dir is
// Options.Dir. The previous log has the same name with the suffix ".1".
func LogPath(dir string, s Server) string { return filepath.Join(dir, s.PluginName()+".log") }

// shortHash returns a short hash for names.
func shortHash(text []byte) string {
	return fmt.Sprintf("%.4x", sha256.Sum256(text))
}
