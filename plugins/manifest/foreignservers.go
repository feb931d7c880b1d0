package manifest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/sdk"
)

// foreignServers reads the MCP servers of another host's plugin: those of the manifest, inline or in files, else those of .mcp.json, in
// which the object around the servers may be missing.
func (r *reader) foreignServers(n *checked.Node, manifest string) {
	r.p.Servers = map[string]Server{}
	if v := n.Get("mcpServers"); v != nil && v.Kind == checked.Object {
		r.serversIn(v.Raw, manifest)
	} else {
		for _, file := range r.places(manifest, n, "mcpServers", ".mcp.json", false) {
			if path, data, ok := r.part(file, "MCP servers"); ok {
				r.serversIn(data, path)
			}
		}
	}
	var names []string
	for _, s := range r.p.Servers {
		names = append(names, s.Variables...)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == ProjectVariable }) // not of the user
	if len(names) > 0 {
		slices.Sort(names)
		r.p.Description.Capabilities = []sdk.Capability{{Name: sdk.CapabilityEnv, Scope: slices.Compact(names), Reason: "settings of its MCP servers"}}
	}
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
}

// convertServer converts an entry and checks it like an entry of mcp.json.
func (r *reader) convertServer(name string, data []byte) (Server, error) {
	var e struct {
		Server
		HTTPURL   string `json:"httpUrl"`   // of Gemini, which prefers it to url
		Variables any    `json:"variables"` // not the same as Server.Variables
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return Server{}, err
	}
	s := e.Server
	if s.Command != "" {
		s.Type, s.Remote = ServerStdio, Remote{}
	} else {
		s.URL, s.Stdio = cmp.Or(e.HTTPURL, s.URL), Stdio{}
		if s.Type != ServerSSE {
			s.Type = ServerHTTP
		}
	}
	if err := s.replaceForeign(); err != nil {
		return s, err
	}
	rep := newReport(name)
	if s.Type == ServerStdio {
		r.checkStdio(rep, name, &s, s.Cwd != "")
	} else {
		s.checkRemote(rep, name)
	}
	return s, rep.err()
}

// replaceForeign replaces the variables of other hosts by those of tenon. The error names the variables that the server cannot have.
func (s *Server) replaceForeign() error {
	var v foreignVariables
	s.Command, s.Cwd, s.URL = v.fixed(s.Command), v.fixed(s.Cwd), v.fixed(s.URL)
	if rest, ok := cutVariable(s.Command, rootVariable); ok {
		s.Command = "." + rest
	}
	if s.Cwd == "${"+rootVariable+"}" || s.Cwd == "." {
		s.Cwd = ""
	}
	for i := range s.Args {
		s.Args[i] = v.kept(s.Args[i])
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
		return fmt.Errorf("it needs %s; add it to your own configuration: tenon mcp add", strings.Join(slices.Compact(v.missing), ", "))
	}
	return nil
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
	for _, variable := range reference().FindAllString(out, -1) { // a default and the text after it can form another variable
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
		text = strings.Replace(text, "${env:", "${", 1) // of Cursor
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
