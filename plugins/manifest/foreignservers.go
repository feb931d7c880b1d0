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
		for _, file := range r.places(n, "mcpServers", "", false) {
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
	var list map[string]json.RawMessage
	err := json.Unmarshal(data, &list)
	if inner, ok := list["mcpServers"]; ok && err == nil {
		list = nil
		err = json.Unmarshal(inner, &list)
	}
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

// convertServer converts an entry and checks it as ours are.
func (r *reader) convertServer(name string, data []byte) (Server, error) {
	var e foreignServer
	if err := json.Unmarshal(data, &e); err != nil {
		return Server{}, err
	}
	var missing []string
	replace := func(s string) string {
		return reference.ReplaceAllStringFunc(s, func(text string) string {
			switch text {
			case "${CLAUDE_PLUGIN_ROOT}", "${PLUGIN_ROOT}", "${extensionPath}":
				return "${" + rootVariable + "}"
			case "${CLAUDE_PLUGIN_DATA}", "${PLUGIN_DATA}":
				return "${" + dataVariable + "}"
			case "${/}", "${pathSeparator}":
				return "/"
			}
			if _, value, ok := strings.Cut(strings.Trim(text, "${}"), ":-"); ok {
				return value // its default
			}
			missing = append(missing, text)
			return text
		})
	}
	s := Server{Type: ServerStdio, Stdio: Stdio{Command: replace(e.Command), Cwd: replace(e.Cwd), Env: map[string]string{}}}
	for _, arg := range e.Args {
		s.Args = append(s.Args, replace(arg))
	}
	maps.Copy(s.Env, e.Env)
	if e.Command == "" {
		s = Server{Type: ServerHTTP, Remote: Remote{URL: replace(e.URL + e.HTTPURL), Headers: maps.Clone(e.Headers)}}
		if e.Type == ServerSSE {
			s.Type = ServerSSE
		}
	}
	for _, values := range []map[string]string{s.Env, s.Headers} {
		for key, value := range values {
			values[key] = replace(value)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return s, fmt.Errorf("it needs %s of your environment; add it to your own configuration: tenon mcp add", strings.Join(slices.Compact(missing), ", "))
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

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
