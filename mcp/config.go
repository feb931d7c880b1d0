package mcp

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/mcp/auth"
	"github.com/tenonhq/tenon/sdk"
)

// FromConfig converts a server of tenon's configuration. The caller sets Origin and Own. Errors wrap ErrConfig.
func FromConfig(name string, c *sdk.MCPConfig) (Server, error) {
	s := Server{
		Name: name, Cwd: c.Cwd, Env: c.Environment, URL: c.URL, Headers: c.Headers, Hooks: c.Hooks,
		Timeout: time.Duration(c.Timeout) * time.Millisecond, Disabled: c.Enabled != nil && !*c.Enabled,
	}
	switch {
	case c.Type == "local":
		s.Transport = TransportStdio
		if len(c.Command) > 0 {
			s.Command, s.Args = c.Command[0], c.Command[1:]
		}
	case c.Type == "remote":
		s.Transport = TransportHTTP
		var err error
		if s.OAuth, err = auth.ParseConfig(c.OAuth); err != nil {
			return s, fmt.Errorf("%w: mcp.%s.%w", ErrConfig, name, err)
		}
	case !s.Disabled: // the entry of a disabled server may contain nothing else
		return s, fmt.Errorf("%w: mcp.%s.type: %q is neither local nor remote", ErrConfig, name, c.Type)
	}
	return s, s.Validate()
}

// ReadConfig reads the servers of a .mcp.json, sorted by name. It replaces ${VAR} and ${VAR:-default} by values of lookupEnv.
// path is for messages and becomes the Origin of the servers.
//
// It omits invalid servers; the error, which wraps ErrConfig, names them, and the other servers are returned too. Warnings list
// unknown keys.
func ReadConfig(data []byte, path string, lookupEnv func(name string) (string, bool)) (servers []Server, warnings []string, err error) {
	source, report := checked.Source{Name: path}, checked.Report{}
	c := &checked.Checker{Source: &source, Report: &report, Nulls: true}
	c.Rules = entryRules{checker: c}
	found := false
	if file := source.Parse(data, &report); file != nil {
		c.Each(file.Place(""), file, func(at checked.Place, name string, list *checked.Node) {
			if name != "mcpServers" {
				return
			}
			found = true
			c.Each(at, list, func(at checked.Place, name string, entry *checked.Node) {
				if s, ok := readEntry(c, at, name, entry, lookupEnv); ok {
					servers = append(servers, s)
				}
			})
		})
		if !found {
			c.Warn(file.Place(""), `missing key "mcpServers"`, "write the servers below it")
		}
	}
	for _, w := range report.Warnings {
		warnings = append(warnings, w.String())
	}
	slices.SortFunc(servers, func(a, b Server) int { return cmp.Compare(a.Name, b.Name) })
	return servers, warnings, report.Err(ErrConfig)
}

// fileEntry is a server in a .mcp.json.
type fileEntry struct {
	Server
	Type     string          `json:"type"`
	OAuth    json.RawMessage `json:"oauth"`
	Timeout  int64           `json:"timeout"` // milliseconds
	Disabled bool            `json:"disabled"`
}

// entryRules ignores unknown keys of entries, which other hosts may know. Values may be secrets.
type entryRules struct {
	checked.NoRules
	checker *checked.Checker
}

// Hides hides all values.
func (entryRules) Hides(checked.Place) bool { return true }

// Member warns about an unknown key of an entry. An entry has neither a name nor a transport.
func (r entryRules) Member(p checked.Place, name string, isField bool, _ *checked.Node, _ map[string]any) bool {
	if p.Schema != checked.Join("", name) || isField && name != "name" && name != "transport" {
		return false
	}
	r.checker.Warn(p, "unknown key is ignored", "")
	return true
}

// readEntry reads one server, or reports its problems.
func readEntry(c *checked.Checker, at checked.Place, name string, n *checked.Node, lookup func(string) (string, bool)) (s Server, ok bool) {
	known := len(c.Report.Problems) + c.Report.Omitted
	at.Schema = ""
	tree, ok := c.Value(at, n, reflect.TypeFor[fileEntry]())
	if !ok || len(c.Report.Problems)+c.Report.Omitted > known {
		return s, false
	}
	e := fileEntry{}
	text, err := json.Marshal(tree) // with exact names, unlike the file: encoding/json ignores their case
	if err == nil {
		err = json.Unmarshal(text, &e)
	}
	if err == nil {
		e.Name, e.Origin = name, c.Source.Name
		s, err = e.server(lookup)
	}
	if err != nil {
		return s, c.Bad(at, err.Error(), "")
	}
	return s, true
}

// server returns the server of an entry.
func (e *fileEntry) server(lookup func(string) (string, bool)) (s Server, err error) {
	written := &e.Server
	written.Timeout, written.Disabled = time.Duration(e.Timeout)*time.Millisecond, e.Disabled
	if written.OAuth, err = auth.ParseConfig(e.OAuth); err != nil {
		return s, err
	}
	if written.Transport, err = written.transport(e.Type); err != nil {
		return s, err
	}
	s, err = written.expand(lookup, true)
	s.written = written
	if err == nil {
		err = s.problem()
	}
	if s.Disabled { // variables and values may be missing
		err = nil
	}
	return s, err
}

// transport returns the transport for the type in a .mcp.json.
func (s *Server) transport(kind string) (Transport, error) {
	switch {
	case kind == "http", kind == "streamable-http", kind == "streamableHttp":
		return TransportHTTP, nil
	case kind == "stdio", kind == "sse":
		return Transport(kind), nil
	case kind != "":
		return "", fmt.Errorf("type: %q: want stdio, http, streamable-http or sse", kind)
	case s.Command != "" && s.URL != "":
		return "", errors.New("has both command and url; set type")
	case s.URL != "":
		return TransportHTTP, nil
	case s.Command != "":
		return TransportStdio, nil
	}
	return "", errors.New("has neither command nor url")
}

// expand returns the server with its variables replaced. If all is set, this includes the command, the
// directory and the address.
func (s Server) expand(lookup func(string) (string, bool), all bool) (Server, error) {
	var problems []error
	expand := func(field, text string) string {
		out, err := expandText(text, lookup)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", field, err))
		}
		return out
	}
	expandMap := func(field string, in map[string]string) map[string]string {
		if in == nil {
			return nil
		}
		out := make(map[string]string, len(in))
		for _, key := range slices.Sorted(maps.Keys(in)) {
			out[key] = expand(field+"."+key, in[key])
		}
		return out
	}
	if all {
		s.Command, s.Cwd, s.URL = expand("command", s.Command), expand("cwd", s.Cwd), expand("url", s.URL)
	}
	args := make([]string, len(s.Args))
	for i, a := range s.Args {
		args[i] = expand(fmt.Sprintf("args[%d]", i), a)
	}
	s.OAuth.ClientID, s.OAuth.ClientSecret = expand("oauth.clientId", s.OAuth.ClientID), expand("oauth.clientSecret", s.OAuth.ClientSecret)
	s.Args, s.Env, s.Headers = args, expandMap("env", s.Env), expandMap("headers", s.Headers)
	return s, errors.Join(problems...)
}

// expandText replaces ${VAR} and ${VAR:-default} once. It keeps any other text.
func expandText(text string, lookup func(string) (string, bool)) (string, error) {
	var missing error
	out := variable().ReplaceAllStringFunc(text, func(reference string) string {
		name, fallback, hasFallback := strings.Cut(reference[2:len(reference)-1], ":-")
		value, ok := lookup(name)
		switch {
		case ok && (value != "" || !hasFallback):
			return value
		case !hasFallback:
			missing = cmp.Or(missing, fmt.Errorf("variable %s is not set; set it, or add a default with ${%s:-…}", name, name))
		}
		return fallback
	})
	if missing != nil {
		return "", missing
	}
	return out, nil
}

// variable matches ${VAR} and ${VAR:-default}.
var variable = lazyregexp.New(`\$\{[A-Za-z_][A-Za-z0-9_]*(?::-[^}]*)?\}`)
