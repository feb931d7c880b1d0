package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// Constrain checks the rules that the type of a value does not express, and returns the value in the form in which it is stored. An empty
// message means that it is valid.
func (c *checker) Constrain(p place, value any) (kept any, message, remedy string) {
	schema := p.Schema
	switch schema {
	case "model", "small_model", "agent.*.model", "command.*.model":
		message, remedy = checkModel(value.(string))
	case "logLevel":
		value = strings.ToLower(value.(string)) // older files use capitals
	case "provider.*.options.timeout", "provider.*.options.answerTimeout", "provider.*.options.totalTimeout":
		message = checkTimeout(value)
	case "mcp.*.oauth":
		if _, ok := value.(map[string]any); !ok && value != false {
			message = "want an object or false"
		}
	case "hooks":
		if _, ok := value.(map[string]any); !ok {
			message = "want an object"
		}
	}
	if known := choices(schema); known != nil {
		message, remedy = checked.OneOf(value.(string), known...)
	}
	if n, ok := value.(json.Number); ok && n[0] == '-' && message == "" && !mayBeNegative(schema) {
		message = "want 0 or more, have " + visible.Cut(string(n), 40, "…")
	}
	if last := len(c.Report.Warnings) - 1; message != "" && last >= 0 {
		if w := c.Report.Warnings[last]; w == c.Source.At(p, w.Message, w.Remedy) { // a variable of this value is not set
			message = w.Message + "; " + message
		}
	}
	return value, message, remedy
}

// choices returns the permitted values of a key; nil if any value is permitted.
func choices(schema string) []string {
	switch schema {
	case "logLevel":
		return []string{"debug", "info", "warn", "error"}
	case "agent.*.mode":
		return []string{sdk.ModePrimary, sdk.ModeSubagent, sdk.ModeAll}
	case "hook.*.onError", "mcp.*.hooks[].onError":
		return []string{string(sdk.OnErrorSkip), string(sdk.OnErrorDeny), string(sdk.OnErrorStop)}
	case "mcp.*.type":
		return []string{mcpLocal, mcpRemote}
	}
	return nil
}

// mayBeNegative reports whether the value may be less than zero.
func mayBeNegative(schema string) bool {
	return schema == "hook.*.priority" || schema == "mcp.*.hooks[].priority"
}

func checkModel(model string) (message, remedy string) {
	provider, name, ok := strings.Cut(model, "/")
	if ok && provider != "" && name != "" {
		return "", ""
	}
	return fmt.Sprintf("want provider/model, have %q", model), `write the provider's name first, such as "openai/gpt-5"`
}

func checkTimeout(value any) string {
	switch value := value.(type) {
	case bool:
		if !value {
			return ""
		}
	case json.Number:
		if _, err := value.Int64(); err == nil && value[0] != '-' {
			return ""
		}
	}
	return "want milliseconds, a whole number, or false"
}

// The kinds of MCP servers.
const (
	mcpLocal  = "local"
	mcpRemote = "remote"
)

// verify checks the merged values: MCP servers may be incomplete. It drops warnings about those that are disabled.
func (l *loader) verify(cfg *sdk.Config, origins map[string]Origin) {
	for _, name := range slices.Sorted(maps.Keys(cfg.MCP)) {
		server := cfg.MCP[name]
		disabled := server.Enabled != nil && !*server.Enabled
		l.report.Warnings = slices.DeleteFunc(l.report.Warnings, func(w Problem) bool { return disabled && checked.Under(w.Key, checked.Join("mcp", name)) })
		switch bad := func(message, remedy string) { l.bad(checked.Join("mcp", name), origins, message, remedy) }; {
		case server.Type == "" && len(server.Command) == 0 && server.URL == "":
			if !disabled {
				bad("has neither command nor url", "add one of them")
			}
		case server.Type == "" && server.URL != "":
			bad("has no type", `add "type": "remote"`)
		case server.Type == "":
			bad("has no type", `add "type": "local"`)
		case server.Type == mcpLocal && len(server.Command) == 0:
			bad("a local server needs command", `add "command": ["program", "argument"]`)
		case server.Type == mcpRemote && server.URL == "":
			bad("a remote server needs url", `add "url": "https://…"`)
		}
	}
}

// bad reports a problem with the merged value of key, at the place of its first member. It reports nothing if a member has a problem itself,
// which explains this one.
func (l *loader) bad(key string, origins map[string]Origin, message, remedy string) {
	if slices.ContainsFunc(l.report.Problems, func(p Problem) bool { return checked.Under(p.Key, key) }) {
		return
	}
	var at Origin
	for k, o := range origins {
		if checked.Under(k, key) && (at.Source == "" || o.Source < at.Source || o.Source == at.Source && o.Line < at.Line) {
			at = o
		}
	}
	file := strings.TrimPrefix(at.Source, "env ")
	if filepath.IsAbs(file) {
		file = l.display(file)
	}
	l.report.Add(Problem{File: file, Line: at.Line, Column: at.Column, Key: key, Message: message, Remedy: remedy})
}
