package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/sdk"
)

// Asked describes a permission request. All texts are safe to print.
type Asked struct {
	Question string   // one sentence: tool, server and target
	Notes    []string // one line each: requester, reason for always asking, confinement of the command
	Diff     string   // change of a file
	Body     string   // without a diff: the whole command or a plugin's prompt, and other arguments that are not named above, one per line
	Always   string   // rule that "always" stores; empty if "always" is not offered
}

// Asks describes a permission request. Paths below directory are relative to it.
func Asks(r *sdk.PermissionRequest, directory string) Asked {
	of := func(key string) string {
		text, _ := r.Metadata[key].(string)
		return text
	}
	a := Asked{Question: terminal.OneLine(question(r, of, directory))}
	if r.Permission == "edit" {
		a.Diff = terminal.Visible(of("diff"))
	}
	note := func(format, value string) {
		if value != "" {
			a.Notes = append(a.Notes, fmt.Sprintf(format, terminal.OneLine(value)))
		}
	}
	if r.Agent != sdk.AgentBuild {
		note("requested by the agent %s", r.Agent)
	}
	note("requested by the plugin %s", of("plugin"))
	note("requested by %s, not by the model", of("template"))
	note("approval required by the plugin %s", of("asks"))
	note("always asks: %s can run programs or control agents", of("guarded"))
	note("%s", of("sandbox"))
	note("asked each time, because it contains %s", cmp.Or(r.Verbatim, of("verbatim")))
	var args map[string]json.RawMessage
	_ = json.Unmarshal(r.Args, &args) // without arguments there is nothing to show
	if of("command") != "" {
		note("in the directory %s", jsontext.StringValue(args["workdir"]))
	}
	covers, _ := r.Metadata["covers"].(sdk.Object)
	for _, c := range covered { // last: a model could fill the screen with them
		patterns, _ := covers[c.permission].([]string)
		note(c.note, targets(patterns, directory))
	}
	if a.Diff == "" {
		a.Body = terminal.Visible(body(r, of, args))
	}
	if len(r.Always) > 0 {
		a.Always = terminal.Visible(r.Permission + " " + strings.Join(r.Always, ", "))
		if r.Permission == sdk.PermissionUnconfined {
			a.Always += " (in this working tree)"
		}
	}
	return a
}

// questions are the questions of permission requests; see question.
var questions = map[string]string{
	"bash":                          "Allow {tool} to run this command?",
	sdk.PermissionUnconfined:        "Allow {tool} to run this command outside the sandbox?",
	"edit":                          "Allow {tool} to change {target}?",
	"read":                          "Allow {tool} to read {target}?",
	sdk.PermissionExternalDirectory: "Allow {tool} to use {path}, outside the project?",
	"webfetch":                      "Allow {tool} to request {target}?",
	"task":                          "Allow the subagent {target} to run?",
	"skill":                         "Allow the skill {target} to be loaded?",
	sdk.PermissionDoomLoop:          "The model repeats the same calls of {target}. Allow it to continue?",
	permission.Sampling:             "Allow the plugin {plugin} to ask {model}?",
}

// covered are notes about the other permissions that a question covers; the body of the question has commands.
var covered = []struct{ permission, note string }{
	{sdk.PermissionExternalDirectory, "it uses %s, outside the project"},
	{"edit", "it changes %s"},
}

// targets returns patterns as text. Paths below directory are relative to it.
func targets(patterns []string, directory string) string {
	var list []string
	for _, p := range patterns {
		list = append(list, relative(p, directory))
	}
	return strings.Join(list, ", ")
}

// question returns the question of a request. of returns a text from its metadata.
func question(r *sdk.PermissionRequest, of func(string) string, directory string) string {
	tool := cmp.Or(of("tool"), r.Permission)
	if server := of("server"); server != "" {
		tool += " of the MCP server " + server
	}
	target := targets(r.Patterns, directory)
	other := "Allow {tool} for {target}?"
	switch {
	case of("tool") != "" && of("tool") != r.Permission:
		other = "Allow {tool} to use the permission {permission} for {target}?"
	case target == "" || target == "*":
		other = "Allow {tool} to run?"
	}
	text := cmp.Or(questions[r.Permission], other)
	if of("tool") != "" && of("tool") != r.Permission && !strings.Contains(text, "{tool}") && r.Permission != sdk.PermissionDoomLoop && r.Permission != permission.Sampling {
		text = other // a tool of a plugin requests it
	}
	names := strings.NewReplacer("{tool}", tool, "{permission}", r.Permission, "{target}", target, "{path}", cmp.Or(of("filepath"), target), "{plugin}", of("plugin"), "{model}", of("model"))
	return names.Replace(text)
}

// body returns a plugin's prompt, or the command and the arguments that neither the question nor a note names.
func body(r *sdk.PermissionRequest, of func(string) string, args map[string]json.RawMessage) string {
	if r.Permission == permission.Sampling {
		return of("prompt")
	}
	var command, shown []string
	switch {
	case of("command") != "": // the built-in tool requests it
		command, shown = []string{of("command")}, []string{"command", "workdir", "description", "timeout"}
	case r.Permission == "bash":
		command = r.Patterns
	}
	var lines []string
	for key, raw := range args {
		value := jsontext.StringValue(raw)
		if slices.Contains(shown, key) || named(r, of, value) {
			continue
		}
		lines = append(lines, terminal.OneLine(key)+": "+strings.ReplaceAll(cmp.Or(value, string(raw)), "\n", "\n  ")) // other types as JSON
	}
	slices.Sort(lines)
	return strings.Join(append(command, lines...), "\n")
}

// named reports whether the question already contains the value of an argument.
func named(r *sdk.PermissionRequest, of func(string) string, value string) bool {
	switch r.Permission {
	case sdk.PermissionExternalDirectory:
		return value != "" && value == of("filepath")
	case "edit", "read", "webfetch", "task", "skill":
		return value != "" && slices.Contains(r.Patterns, value)
	}
	return false
}
