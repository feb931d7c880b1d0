package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/sdk"
)

// foreignServer is an entry of .mcp.json, mcpServers, or a Gemini extension.
type foreignServer struct {
	Type    string            `json:"type"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	Cwd     string            `json:"cwd"`
	URL     string            `json:"url"`
	HTTPURL string            `json:"httpUrl"`
	Headers map[string]string `json:"headers"`
}

// foreignServers reads the MCP servers of another host's plugin: those of the manifest, inline or in a file, else those of .mcp.json, in
// which the object around the servers may be missing.
func (r *reader) foreignServers(n *checked.Node, manifest string) {
	r.p.Servers = map[string]Server{}
	v := n.Get("mcpServers")
	switch {
	case v != nil && v.Kind == checked.Object:
		r.serversIn(v.Raw, manifest)
	case v != nil:
		for _, file := range r.places(manifest, n, "mcpServers", "", false) {
			r.serverFile(file)
		}
	default:
		r.serverFile(".mcp.json")
	}
}

func (r *reader) serverFile(file string) {
	data, err := r.folder.read(file, checked.MaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	where := filepath.Join(r.folder.root, filepath.FromSlash(file))
	if err != nil {
		r.warn(where, "", "", "no MCP servers are loaded: %v", err)
		return
	}
	r.serversIn(data, where)
}

func (r *reader) serversIn(data []byte, where string) {
	list, err := Members(data, "mcpServers")
	if err != nil {
		r.warn(where, "", "", "no MCP servers are loaded: %v", err)
		return
	}
	for _, name := range sortedKeys(list) {
		s, err := r.convertServer(name, list[name])
		if err != nil {
			r.warn(where, name, "", "the server is left out: %v", err)
			continue
		}
		r.p.Servers[name] = s
	}
	r.requestVariables()
}

// requestVariables adds the variables of the servers to the capabilities.
func (r *reader) requestVariables() {
	var names []string
	for _, s := range r.p.Servers {
		names = append(names, s.Variables...)
	}
	if len(names) > 0 {
		slices.Sort(names)
		r.p.Description.Capabilities = []sdk.Capability{{Name: sdk.CapabilityEnv, Scope: slices.Compact(names), Reason: "settings of its MCP servers"}}
	}
}

// convertServer converts an entry and checks it as ours are.
func (r *reader) convertServer(name string, data []byte) (Server, error) {
	var e foreignServer
	if err := json.Unmarshal(data, &e); err != nil {
		return Server{}, err
	}
	s, err := e.server()
	if err != nil {
		return s, err
	}
	if rest, ok := cutVariable(s.Command, rootVariable); ok {
		s.Command = "." + rest
	}
	if s.Cwd == "${"+rootVariable+"}" {
		s.Cwd = ""
	}
	rep := newReport(name)
	if s.Type == ServerStdio {
		r.checkStdio(rep, name, &s, s.Cwd != "")
	} else {
		s.checkRemote(rep, name)
	}
	return s, rep.err()
}

// server returns the server with tenon's variables. It names those that it cannot have.
func (e *foreignServer) server() (Server, error) {
	var v foreignVariables
	s := Server{Type: ServerStdio, Stdio: Stdio{Command: v.fixed(e.Command), Cwd: v.fixed(e.Cwd), Env: map[string]string{}}}
	for _, arg := range e.Args {
		s.Args = append(s.Args, v.kept(arg))
	}
	maps.Copy(s.Env, e.Env)
	if e.Command == "" {
		s = Server{Type: ServerHTTP, Remote: Remote{URL: v.fixed(e.URL + e.HTTPURL), Headers: maps.Clone(e.Headers)}}
		if e.Type == ServerSSE {
			s.Type = ServerSSE
		}
	}
	for _, values := range []map[string]string{s.Env, s.Headers} {
		for key, value := range values {
			values[key] = v.kept(value)
		}
	}
	slices.Sort(v.names)
	s.Variables = slices.Compact(v.names)
	if len(v.missing) > 0 {
		slices.Sort(v.missing)
		return s, fmt.Errorf("it needs %s; add it to your own configuration: tenon mcp add", strings.Join(slices.Compact(v.missing), ", "))
	}
	return s, nil
}

// foreignVariables collects the user's variables in the texts of a server.
type foreignVariables struct {
	names   []string // that the server may have
	missing []string // as written: those it cannot have
}

// fixed replaces variables in a text that decides what is started: there, the user's variables have their defaults.
func (v *foreignVariables) fixed(s string) string {
	out := replaceForeign(s, func(text, _, value string, ok bool) string {
		if !ok {
			v.missing = append(v.missing, text)
		}
		return value
	})
	for _, variable := range reference().FindAllString(out, -1) { // a default and the text behind it can form another variable
		if variable != "${"+rootVariable+"}" && variable != "${"+dataVariable+"}" {
			v.missing = append(v.missing, variable)
		}
	}
	return out
}

// kept leaves the user's variables in a text: they are replaced at the start of the server.
func (v *foreignVariables) kept(s string) string {
	return replaceForeign(s, func(text, name, _ string, _ bool) string {
		if name == "" || variableProblem(name) != "" {
			v.missing = append(v.missing, text)
		}
		v.names = append(v.names, name)
		return text
	})
}

// replaceForeign replaces the variables that other hosts set by those of tenon. other returns the text for the user's variables, given
// their name and default.
func replaceForeign(s string, other func(text, name, value string, ok bool) string) string {
	return reference().ReplaceAllStringFunc(s, func(text string) string {
		switch text {
		case "${CLAUDE_PLUGIN_ROOT}", "${PLUGIN_ROOT}", "${extensionPath}":
			return "${" + rootVariable + "}"
		case "${CLAUDE_PLUGIN_DATA}", "${PLUGIN_DATA}":
			return "${" + dataVariable + "}"
		case "${/}", "${pathSeparator}":
			return "/"
		}
		name, value, ok := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(text, "${"), "}"), ":-")
		return other(text, name, value, ok)
	})
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
