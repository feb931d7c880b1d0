package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/mcp/auth"
	"github.com/tenonhq/tenon/sdk"
)

// FromConfig converts the servers of tenon's configuration, sorted by name. The caller sets
// Origin and Own. It omits invalid servers; the error, which wraps ErrConfig, names them.
func FromConfig(configured map[string]sdk.MCPConfig) ([]Server, error) {
	var servers []Server
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(configured)) {
		c := configured[name]
		s := Server{
			Name: name, Cwd: c.Cwd, Env: c.Environment, URL: c.URL, Headers: c.Headers, Hooks: c.Hooks,
			Timeout: time.Duration(c.Timeout) * time.Millisecond, Disabled: c.Enabled != nil && !*c.Enabled,
		}
		switch c.Type {
		case "local":
			s.Transport = TransportStdio
			if len(c.Command) > 0 {
				s.Command, s.Args = c.Command[0], c.Command[1:]
			}
		case "remote":
			s.Transport = TransportHTTP
			var err error
			if s.OAuth, err = auth.ParseConfig(c.OAuth); err != nil {
				problems = append(problems, fmt.Errorf("%w: mcp.%s.%w", ErrConfig, name, err))
				continue
			}
		default:
			if s.Disabled { // it may be only the switch
				break
			}
			problems = append(problems, fmt.Errorf("%w: mcp.%s.type: %q is neither local nor remote", ErrConfig, name, c.Type))
			continue
		}
		if err := s.Validate(); err != nil && !s.Disabled {
			problems = append(problems, err)
			continue
		}
		servers = append(servers, s)
	}
	servers, err := distinct(servers)
	return servers, errors.Join(append(problems, err)...)
}

// distinct removes servers whose plugin would have the name of an earlier one.
func distinct(servers []Server) ([]Server, error) {
	var problems []error
	seen := map[string]string{}
	out := servers[:0]
	for _, s := range servers {
		name := s.PluginName()
		if s.Disabled {
			out = append(out, s)
			continue
		}
		if other, taken := seen[name]; taken {
			problems = append(problems, fmt.Errorf("%w: servers %q and %q have names that are too similar (both %s); rename one", ErrConfig, other, s.Name, name))
			continue
		}
		seen[name] = s.Name
		out = append(out, s)
	}
	return out, errors.Join(problems...)
}

// entry is one server of a .mcp.json.
type entry struct {
	Type     string              `json:"type"`
	Command  string              `json:"command"`
	Args     []string            `json:"args"`
	Env      map[string]string   `json:"env"`
	Cwd      string              `json:"cwd"`
	URL      string              `json:"url"`
	Headers  map[string]string   `json:"headers"`
	OAuth    json.RawMessage     `json:"oauth"`
	Timeout  int64               `json:"timeout"` // milliseconds
	Disabled bool                `json:"disabled"`
	Hooks    []sdk.MCPHookConfig `json:"hooks"`
}

// ReadConfig reads the servers of a .mcp.json, sorted by name. It replaces ${VAR} and ${VAR:-default} by values of lookupEnv.
// path is for messages and becomes the Origin of the servers.
//
// It omits invalid servers; the error, which wraps ErrConfig, names them, and the other servers are returned too. Warnings list
// unknown keys.
func ReadConfig(data []byte, path string, lookupEnv func(name string) (string, bool)) (servers []Server, warnings []string, err error) {
	var file map[string]json.RawMessage
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, nil, fmt.Errorf("%w: %s%s: %w", ErrConfig, path, lineOf(data, err), err)
	}
	var entries map[string]json.RawMessage
	if raw, ok := file["mcpServers"]; ok {
		if err := json.Unmarshal(raw, &entries); err != nil {
			return nil, nil, fmt.Errorf("%w: %s: mcpServers: want an object of servers", ErrConfig, path)
		}
	} else {
		warnings = append(warnings, path+`: missing key "mcpServers"; write the servers below it`)
	}
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		s, unknown, err := readEntry(name, entries[name], path, lookupEnv)
		for _, key := range unknown {
			warnings = append(warnings, fmt.Sprintf("%s: mcpServers.%s: unknown key %q is ignored", path, name, key))
		}
		if err != nil {
			problems = append(problems, err)
			continue
		}
		servers = append(servers, s)
	}
	servers, err = distinct(servers)
	return servers, warnings, errors.Join(append(problems, err)...)
}

func readEntry(name string, raw json.RawMessage, path string, lookup func(string) (string, bool)) (s Server, unknown []string, err error) {
	bad := func(err error) (Server, []string, error) {
		return Server{}, unknown, fmt.Errorf("%w: %s: mcpServers.%s: %w", ErrConfig, path, name, err)
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(raw, &keys); err != nil || keys == nil {
		return bad(errors.New("want an object"))
	}
	known := []string{"type", "command", "args", "env", "cwd", "url", "headers", "oauth", "timeout", "disabled", "hooks"}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if !slices.Contains(known, key) {
			unknown = append(unknown, key)
		}
	}
	var e entry
	if err := json.Unmarshal(raw, &e); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
			return bad(fmt.Errorf("%s: is a %s, want %s", wrong.Field, wrong.Value, wrong.Type))
		}
		return bad(err)
	}
	written := Server{
		Name: name, Command: e.Command, Args: e.Args, Env: e.Env, Cwd: e.Cwd, URL: e.URL, Headers: e.Headers,
		Timeout: time.Duration(e.Timeout) * time.Millisecond, Hooks: e.Hooks, Origin: path, Disabled: e.Disabled,
	}
	if written.OAuth, err = auth.ParseConfig(e.OAuth); err != nil {
		return bad(err)
	}
	if written.Transport, err = transportOf(&e); err != nil {
		return bad(err)
	}
	if s, err = written.expand(lookup); err != nil && !e.Disabled { // variables of a disabled server may be missing
		return bad(err)
	}
	s.written = &written
	if s.Disabled {
		return s, unknown, nil
	}
	return s, unknown, s.Validate()
}

func transportOf(e *entry) (Transport, error) {
	switch e.Type {
	case "":
		switch {
		case e.Command != "" && e.URL != "":
			return "", errors.New("has both command and url; set type")
		case e.URL != "":
			return TransportHTTP, nil
		case e.Command == "":
			return "", errors.New("has neither command nor url")
		}
		return TransportStdio, nil
	case "stdio":
		return TransportStdio, nil
	case "http", "streamable-http", "streamableHttp":
		return TransportHTTP, nil
	case "sse":
		return TransportSSE, nil
	}
	return "", fmt.Errorf("type: %q: want stdio, http, streamable-http or sse", e.Type)
}

// expand returns the server with its variables replaced.
func (s Server) expand(lookup func(string) (string, bool)) (Server, error) {
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
	s.Command, s.Cwd, s.URL = expand("command", s.Command), expand("cwd", s.Cwd), expand("url", s.URL)
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

// lineOf returns the line of a syntax error as ":N".
func lineOf(data []byte, err error) string {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return ""
	}
	offset := min(max(int(syntax.Offset), 0), len(data))
	return fmt.Sprintf(":%d", 1+bytes.Count(data[:offset], []byte("\n")))
}
