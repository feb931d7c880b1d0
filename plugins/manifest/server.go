package manifest

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/http/httpguts"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/internal/httpx"
	"github.com/tenonhq/tenon/internal/nearest"
	"github.com/tenonhq/tenon/internal/projectfs"
)

// Types of MCP servers.
const (
	ServerStdio = "stdio"
	ServerHTTP  = "streamable-http"
	ServerSSE   = "sse"
)

// The variables of a plugin's processes, which the entries of its servers may use as ${…}.
const (
	rootVariable = "PLUGIN_ROOT"
	dataVariable = "PLUGIN_DATA"
	// ProjectVariable is the project's directory in servers of plugins for Claude Code.
	ProjectVariable = "CLAUDE_PROJECT_DIR"
)

// mcpFile is the place of a package's MCP servers, by the specification.
const mcpFile = "mcp.json"

// Server is a valid entry of mcp.json. Which fields count depends on Type.
type Server struct {
	Type string `json:"type"`
	Stdio
	Remote
	// Variables are the names of the user's variables that Args, Env and Headers contain as ${NAME} or ${NAME:-default}, sorted. Only
	// servers of other hosts' packages have them; the package requests them.
	Variables []string `json:"variables,omitempty"`
}

// Stdio holds the fields that only servers of type stdio have.
type Stdio struct {
	Command string            `json:"command,omitempty"` // a bare name, or a path that begins with ./
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Cwd     string            `json:"cwd,omitempty"` // empty: the package's root
}

// Remote holds the fields that only the other servers have.
type Remote struct {
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// servers reads mcp.json. An invalid file contributes no servers; an invalid entry is left out.
func (r *reader) servers() {
	path, data, ok := r.part(mcpFile, "MCP servers")
	if !ok {
		return
	}
	rep := newReport(path)
	list := serverList(rep, data)
	if list == nil || len(rep.Problems) > 0 {
		r.warnAll(rep, "no MCP servers are loaded: ")
		return
	}
	r.p.Servers = map[string]Server{}
	for i := range list.Members {
		m := &list.Members[i]
		own := &report{src: rep.src, kind: rep.kind}
		if s := r.server(own, checked.Join("mcpServers", m.Name), m); len(own.Problems) == 0 {
			r.p.Servers[m.Name] = s
		}
		r.warnAll(own, "the server is left out: ")
	}
}

// serverList checks an mcp.json as a whole and returns its servers.
func serverList(rep *report, data []byte) *checked.Node {
	n := rep.object(data)
	if n == nil {
		return nil
	}
	c := rep.checker()
	c.Each(n.Place(""), n, func(at checked.Place, name string, _ *checked.Node) {
		if known := []string{"$schema", "mcpServers"}; !slices.Contains(known, name) {
			c.Bad(at, "unknown key", nearest.Remedy(name, known))
		}
	})
	schema, list := n.Get("$schema"), n.Get("mcpServers")
	valid := schema != nil && schema.Kind == checked.String && schema.Text == MCPSchema
	rep.need(valid, "$schema", `write "`+MCPSchema+`"`, "this is not the version of plugin.json")
	if !rep.need(list != nil, "mcpServers", `write an object {"name": {…}}`, "is missing") {
		return nil
	}
	c.Each(list.Place("mcpServers"), list, func(checked.Place, string, *checked.Node) {})
	return list
}

// server reads one entry of mcp.json.
func (r *reader) server(rep *report, where string, m *checked.Member) (s Server) {
	c := rep.checker()
	shows := m.Name != "" && !strings.ContainsFunc(m.Name, hidden)
	if !rep.need(shows, where, "rename it", "the server has no name that can be shown") || !c.Want(m.Value.Place(where), &m.Value, checked.Object) {
		return s
	}
	t := m.Value.Get("type")
	if !rep.need(t != nil && t.Kind == checked.String, checked.Join(where, "type"), "write stdio, streamable-http or sse", "is missing") {
		return s
	}
	switch t.Text {
	case ServerStdio:
		var e struct {
			Type string `json:"type"`
			Stdio
		}
		if c.Decode(m.Value.Place(where), &m.Value, &e) {
			s = Server{Type: e.Type, Stdio: e.Stdio}
			r.checkStdio(rep, where, &s, m.Value.Get("cwd") != nil)
		}
	case ServerHTTP, ServerSSE:
		var e struct {
			Type string `json:"type"`
			Remote
		}
		if c.Decode(m.Value.Place(where), &m.Value, &e) {
			s = Server{Type: e.Type, Remote: e.Remote}
			s.checkRemote(rep, where)
		}
	default:
		rep.add(checked.Join(where, "type"), nearest.Remedy(t.Text, []string{ServerStdio, ServerHTTP, ServerSSE}), "unknown type %s", quoted(t.Text))
	}
	return s
}

func (r *reader) checkStdio(rep *report, where string, s *Server, hasCwd bool) {
	if problem := tokenProblem(s.Command); problem != "" {
		rep.add(checked.Join(where, "command"), `write one program: a bare name or "./path"`, "%s %s", quoted(s.Command), problem)
	} else if strings.HasPrefix(s.Command, "./") {
		if _, err := r.folder.resolve(s.Command); err != nil && !errors.Is(err, fs.ErrNotExist) {
			rep.add(checked.Join(where, "command"), "", "%s: %v", quoted(s.Command), err)
		}
	}
	rep.noNUL(checked.Join(where, "args"), s.Args)
	for name, value := range s.Env {
		field := checked.Join(checked.Join(where, "env"), name)
		switch upper := strings.ToUpper(name); {
		case upper == rootVariable || upper == dataVariable:
			rep.add(field, "remove it", "tenon sets this variable itself")
		case name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0):
			rep.add(field, "rename it", "is not the name of an environment variable")
		}
	}
	if hasCwd {
		problem := r.cwdProblem(s.Cwd)
		rep.need(problem == "", checked.Join(where, "cwd"), "write ./…, ${PLUGIN_ROOT}… or ${PLUGIN_DATA}…", "%s %s", quoted(s.Cwd), problem)
	}
}

// cwdProblem returns the problem with a working directory; "" without one. The directory may be missing.
func (r *reader) cwdProblem(cwd string) string {
	dir, inData := cwdPath(cwd)
	if dir != "./" {
		if problem := pathProblem(dir); problem != "" || inData {
			return problem
		}
	}
	if _, err := r.folder.resolve(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err.Error()
	}
	return ""
}

// cwdPath returns a working directory as a path in the package, or in the directory of the plugin's data: "./" and the rest.
func cwdPath(cwd string) (dir string, inData bool) {
	for _, variable := range []string{rootVariable, dataVariable} {
		if rest, ok := cutVariable(cwd, variable); ok {
			return "." + cmp.Or(rest, "/"), variable == dataVariable
		}
	}
	return cwd, false
}

// cutVariable returns the text after ${name} at the start of s: empty, or beginning with a slash.
func cutVariable(s, name string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(s, "${"+name+"}")
	return rest, ok && (rest == "" || rest[0] == '/')
}

func (s *Server) checkRemote(rep *report, where string) {
	problem := urlProblem(s.URL)
	rep.need(problem == "", checked.Join(where, "url"), "", "%s %s", quoted(s.URL), problem)
	seen := map[string]string{}
	for name, value := range s.Headers {
		field := checked.Join(checked.Join(where, "headers"), name)
		lower := strings.ToLower(name)
		other, twice := seen[lower]
		rep.need(!twice, field, "keep one of them", "is the same header as %s", quoted(other))
		seen[lower] = name
		rep.need(httpguts.ValidHeaderFieldName(name), field, "", "is not the name of an HTTP header")
		rep.need(httpguts.ValidHeaderFieldValue(value) && strings.TrimSpace(value) == value, field, "", "invalid value of an HTTP header")
	}
}

// urlProblem returns the problem with the address of a server.
func urlProblem(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return "is not a URL"
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.Hostname() == "":
		return "is not an absolute URL; write https://…"
	case u.User != nil:
		return "contains a user name or password; remove them"
	case u.Fragment != "" || strings.Contains(text, "#"):
		return "contains a fragment; remove it"
	case u.Scheme == "http" && !httpx.Loopback(u.Hostname()):
		return "is not encrypted; write https://…, http is for this machine alone"
	}
	if err := CheckSpelling(u); err != nil {
		return err.Error()
	}
	return ""
}

// CheckSpelling returns an error for an address that leads to another place than its text suggests, which a policy could not judge:
// HTTP clients write other characters of a host as ASCII (UTS #46, as golang.org/x/net/idna does), and servers read /a/../b as /b.
func CheckSpelling(u *url.URL) error {
	if strings.ContainsFunc(u.Host, func(r rune) bool { return r > unicode.MaxASCII }) {
		return errors.New("has a host that is not ASCII; write it as xn--…")
	}
	host := u.Hostname()
	name := strings.TrimSuffix(host, ".")
	if _, err := strconv.ParseUint(name[strings.LastIndexByte(name, '.')+1:], 0, 64); err == nil { // to inet_aton(3), 0x7f.1 is 127.0.0.1
		if _, err := netip.ParseAddr(host); err != nil {
			return errors.New("has a number as its host; write the IP address as four decimal numbers")
		}
	}
	for part := range strings.SplitSeq(u.Path, "/") {
		if part == "." || part == ".." {
			return errors.New("has . or .. as a part of its path; write it without them")
		}
	}
	return nil
}

// Expand returns the server ready to start: ${PLUGIN_ROOT} and ${PLUGIN_DATA} replaced in Args, the values of Env and Cwd, once and
// nowhere else; a Command that begins with ./ and Cwd absolute and checked to stay inside; and the result of the function Variables
// added to Env, last. root and data are absolute and exist. Servers that are not started are returned unchanged.
func (s Server) Expand(root, data string) (Server, error) {
	if s.Type != ServerStdio {
		return s, nil
	}
	root = projectfs.Real(root)
	replace := strings.NewReplacer("${"+rootVariable+"}", root, "${"+dataVariable+"}", data).Replace
	s.Args = slices.Clone(s.Args)
	for i := range s.Args {
		s.Args[i] = replace(s.Args[i])
	}
	env := make(map[string]string, len(s.Env)+4)
	for name, value := range s.Env {
		env[name] = replace(value)
	}
	maps.Copy(env, Variables(root, data))
	s.Env = env
	var err error
	if strings.HasPrefix(s.Command, "./") {
		if s.Command, err = Resolve(root, s.Command); err != nil {
			return Server{}, fmt.Errorf("command: %w", err)
		}
	}
	if s.Cwd, err = workingDirectory(s.Cwd, root, data); err != nil {
		return Server{}, fmt.Errorf("cwd: %w", err)
	}
	return s, nil
}

// Variables returns the variables that the servers and command hooks of a plugin have, also under the names of Claude Code.
func Variables(root, data string) map[string]string {
	return map[string]string{rootVariable: root, dataVariable: data, "CLAUDE_" + rootVariable: root, "CLAUDE_" + dataVariable: data}
}

func workingDirectory(cwd, root, data string) (string, error) {
	dir, inData := cwdPath(cwd)
	if !inData {
		return Resolve(root, dir)
	}
	resolved, err := Resolve(projectfs.Real(data), dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w; the plugin has to create it first", err)
	}
	return resolved, err
}

// Resolve returns the absolute path, links resolved, of a file or directory in root, whose links are resolved. Paths outside of root are
// errors.
func Resolve(root, rel string) (string, error) { return folder{root: root}.resolve(rel) }
