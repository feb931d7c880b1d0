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
	case !s.Disabled: // otherwise it may be only the switch
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
	return servers, warnings, errors.Join(problems...)
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
	written := Server{}
	e := struct {
		*Server
		Type     string `json:"type"`
		Timeout  int64  `json:"timeout"` // milliseconds
		Disabled bool   `json:"disabled"`
	}{Server: &written}
	if err := json.Unmarshal(raw, &e); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
			return bad(fmt.Errorf("%s: is a %s, want %s", strings.TrimPrefix(wrong.Field, "Server."), wrong.Value, wrong.Type))
		}
		return bad(err)
	}
	written.Name, written.Origin, written.Disabled = name, path, e.Disabled
	written.Timeout = time.Duration(e.Timeout) * time.Millisecond
	if written.Transport, err = written.transport(e.Type); err != nil {
		return bad(err)
	}
	if s, err = written.expand(lookup, true); err != nil && !e.Disabled { // variables of a disabled server may be missing
		return bad(err)
	}
	s.written = &written
	return s, unknown, s.Validate()
}

// transport returns the transport for the type in a .mcp.json.
func (s *Server) transport(kind string) (Transport, error) {
	switch kind {
	case "":
		switch {
		case s.Command != "" && s.URL != "":
			return "", errors.New("has both command and url; set type")
		case s.URL != "":
			return TransportHTTP, nil
		case s.Command == "":
			return "", errors.New("has neither command nor url")
		}
		return TransportStdio, nil
	case "stdio", "sse":
		return Transport(kind), nil
	case "http", "streamable-http", "streamableHttp":
		return TransportHTTP, nil
	}
	return "", fmt.Errorf("type: %q: want stdio, http, streamable-http or sse", kind)
}

// expand returns the server with its variables replaced; with all, also those of what is started or contacted.
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

// lineOf returns the line of a syntax error as ":N".
func lineOf(data []byte, err error) string {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return ""
	}
	offset := min(max(int(syntax.Offset), 0), len(data))
	return fmt.Sprintf(":%d", 1+bytes.Count(data[:offset], []byte("\n")))
}
