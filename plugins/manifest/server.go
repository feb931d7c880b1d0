package manifest

import (
	"errors"
	"io/fs"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/tenonhq/tenon/internal/nearest"
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
)

// mcpFile is the place of a package's MCP servers, by the specification.
const mcpFile = "mcp.json"

// Server is a valid entry of mcp.json. Which fields count depends on Type.
type Server struct {
	Type string `json:"type"`

	Command string            `json:"command,omitempty"` // of stdio: a bare name, or a path that begins with ./
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Cwd     string            `json:"cwd,omitempty"` // empty: the package's root

	URL     string            `json:"url,omitempty"` // of the others
	Headers map[string]string `json:"headers,omitempty"`
}

type (
	stdioEntry struct {
		Type    string            `json:"type"`
		Command string            `json:"command"`
		Args    []string          `json:"args"`
		Env     map[string]string `json:"env"`
		Cwd     string            `json:"cwd"`
	}
	remoteEntry struct {
		Type    string            `json:"type"`
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers"`
	}
)

// servers reads mcp.json. A file that is wrong as a whole gives no servers, an entry that is wrong is left out.
func (r *reader) servers() {
	if !r.folder.has(mcpFile) {
		return
	}
	path := filepath.Join(r.folder.root, mcpFile)
	data, err := r.folder.read(mcpFile)
	if err != nil {
		r.warn(path, "", "", "no MCP servers are loaded: %v", err)
		return
	}
	rep := &report{file: path}
	servers := parseServers(rep, data, &r.folder)
	r.p.Servers = servers
	r.p.Warnings = append(r.p.Warnings, rep.texts()...)
}

// parseServers reads the servers of an mcp.json. Without a folder, paths are not looked up.
func parseServers(rep *report, data []byte, f *folder) map[string]Server {
	n, err := parseJSON(data)
	if err != nil {
		rep.add("", "", "no MCP servers are loaded: %v", err)
		return nil
	}
	c := &checker{report: rep}
	if !c.want("", n, kindObject) {
		return nil
	}
	c.checkNames("", n)
	for _, m := range n.members {
		if m.name != "$schema" && m.name != "mcpServers" {
			rep.add(at("", m.name), nearest.Remedy(m.name, []string{"$schema", "mcpServers"}), "no MCP servers are loaded: unknown field")
		}
	}
	schema, list := n.field("$schema"), n.field("mcpServers")
	if schema == nil || schema.kind != kindString || schema.text != MCPSchema {
		rep.add("$schema", `write "`+MCPSchema+`"`, "no MCP servers are loaded: this is not the version of plugin.json")
	}
	if list == nil || list.kind != kindObject {
		rep.add("mcpServers", `write an object {"name": {…}}`, "no MCP servers are loaded: want an object")
	} else {
		c.checkNames("mcpServers", list)
	}
	if len(rep.problems) > 0 {
		return nil
	}
	servers := map[string]Server{}
	for _, m := range list.members {
		own := &report{file: rep.file}
		if s, ok := parseServer(own, at("mcpServers", m.name), m, f); ok {
			servers[m.name] = s
			continue
		}
		for _, p := range own.problems {
			rep.add(p.Field, p.Remedy, "the server is left out: %s", p.Message)
		}
	}
	return servers
}

func parseServer(rep *report, where string, m member, f *folder) (Server, bool) {
	c := &checker{report: rep}
	if m.name == "" || strings.ContainsFunc(m.name, hidden) {
		rep.add(where, "rename it", "the server has no name that can be shown")
		return Server{}, false
	}
	if !c.want(where, m.value, kindObject) {
		return Server{}, false
	}
	t := m.value.field("type")
	if t == nil || t.kind != kindString {
		rep.add(at(where, "type"), "write stdio, streamable-http or sse", "is missing")
		return Server{}, false
	}
	var s Server
	switch t.text {
	case ServerStdio:
		var e stdioEntry
		if !c.decode(where, m.value, &e) {
			return Server{}, false
		}
		s = Server{Type: e.Type, Command: e.Command, Args: e.Args, Env: e.Env, Cwd: e.Cwd}
		s.checkStdio(rep, where, m.value, f)
	case ServerHTTP, ServerSSE:
		var e remoteEntry
		if !c.decode(where, m.value, &e) {
			return Server{}, false
		}
		s = Server{Type: e.Type, URL: e.URL, Headers: e.Headers}
		s.checkRemote(rep, where)
	default:
		rep.add(at(where, "type"), nearest.Remedy(t.text, []string{ServerStdio, ServerHTTP, ServerSSE}), "unknown type %s", quoted(t.text))
	}
	return s, len(rep.problems) == 0
}

func (s *Server) checkStdio(rep *report, where string, n *node, f *folder) {
	if problem := tokenProblem(s.Command); problem != "" {
		rep.add(at(where, "command"), `write one program: a bare name or "./path"`, "%s %s", quoted(s.Command), problem)
	} else if strings.HasPrefix(s.Command, "./") && f != nil {
		if _, err := f.resolve(s.Command); err != nil && !errors.Is(err, fs.ErrNotExist) {
			rep.add(at(where, "command"), "", "%s: %v", quoted(s.Command), err)
		}
	}
	for i, arg := range s.Args {
		if strings.ContainsRune(arg, 0) {
			rep.add(index(at(where, "args"), i), "remove it", "holds a NUL character")
		}
	}
	for name, value := range s.Env {
		field := at(at(where, "env"), name)
		switch upper := strings.ToUpper(name); {
		case upper == rootVariable || upper == dataVariable:
			rep.add(field, "remove it", "tenon sets this variable itself")
		case name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0):
			rep.add(field, "rename it", "is not the name of an environment variable")
		}
	}
	if n.field("cwd") == nil {
		return
	}
	if problem := cwdProblem(s.Cwd); problem != "" {
		rep.add(at(where, "cwd"), "write ./…, ${PLUGIN_ROOT}… or ${PLUGIN_DATA}…", "%s %s", quoted(s.Cwd), problem)
		return
	}
	if rest, ok := cutVariable(s.Cwd, rootVariable); f != nil && (ok || strings.HasPrefix(s.Cwd, "./")) {
		if !ok {
			rest = s.Cwd
		}
		if _, err := f.resolve(rest); err != nil && !errors.Is(err, fs.ErrNotExist) {
			rep.add(at(where, "cwd"), "", "%s: %v", quoted(s.Cwd), err)
		}
	}
}

// cwdProblem returns the problem with the text of a working directory.
func cwdProblem(cwd string) string {
	rest, ok := cutVariable(cwd, rootVariable)
	if !ok {
		rest, ok = cutVariable(cwd, dataVariable)
	}
	switch {
	case !ok && cwd == "./":
		return ""
	case !ok:
		return pathProblem(cwd)
	case rest == "" || rest == "/":
		return ""
	}
	return pathProblem("." + rest)
}

// cutVariable returns the text after ${name} at the start of s: empty, or beginning with a slash.
func cutVariable(s, name string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(s, "${"+name+"}")
	return rest, ok && (rest == "" || rest[0] == '/')
}

func (s *Server) checkRemote(rep *report, where string) {
	if problem := urlProblem(s.URL); problem != "" {
		rep.add(at(where, "url"), "", "%s %s", quoted(s.URL), problem)
	}
	seen := map[string]string{}
	for name, value := range s.Headers {
		field := at(at(where, "headers"), name)
		lower := strings.ToLower(name)
		if other, twice := seen[lower]; twice {
			rep.add(field, "keep one of them", "is the same header as %s", quoted(other))
		}
		seen[lower] = name
		if !headerName(name) {
			rep.add(field, "", "is not the name of an HTTP header")
		}
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) || strings.TrimSpace(value) != value {
			rep.add(field, "", "the value is none of an HTTP header")
		}
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
		return "holds a user name or password; remove them"
	case u.Fragment != "" || strings.Contains(text, "#"):
		return "holds a fragment; remove it"
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return "is not encrypted; write https://…, http is for this machine alone"
	}
	return ""
}

func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.Unmap().IsLoopback() && addr.Zone() == ""
}

func headerName(s string) bool {
	return s != "" && plain(s, "!#$%&'*+-.^_`|~")
}
