package permission

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/sdk"
)

// Denied returns the reason of a request that a rule denied.
func Denied(r *sdk.PermissionRequest, d Decision) string {
	key, what := r.Permission, several(r.Patterns)
	if d.Rule.Permission != "*" && d.Rule.Permission != key {
		what += " (" + d.Rule.Permission + " " + d.Rule.Pattern + ")"
	}
	return fmt.Sprintf("permission %q is denied for %q%s", key, what, origin(d.Rule))
}

func origin(r sdk.PermissionRule) string {
	if r.Origin == "" {
		return ""
	}
	return " by the rule at " + r.Origin
}

// Headless returns the refusal of a request that requires the user's answer, with a remedy, if no user is available.
func (rules *Rules) Headless(r *sdk.PermissionRequest) error {
	if r.Verbatim != "" && !rules.allowsVerbatim(r.Permission) {
		remedy := `, or allow every command with --auto or the rule {"permission": {` + quoted(r.Permission) + `: {"*": "allow"}}}`
		if rules.NamesOthers(r.Permission) {
			remedy = "; --auto does not allow it while a rule denies or asks for a command by name, or denies a file by name: the text could hide it"
		}
		return &sdk.Refusal{By: "headless", Reason: fmt.Sprintf(
			"permission %q for %q requires an answer, and no user is present: it contains %s; use simple commands without that%s",
			r.Permission, several(r.Patterns), r.Verbatim, remedy)}
	}
	flag := "--auto, or with "
	if sdk.Deliberate(r.Permission) {
		flag = "" // --auto would not allow it
	}
	plugin, remedy := "", rules.missing(r)+" in tenon.json"
	if asks, ok := r.Metadata["asks"].(string); ok { // whatever the rules allow
		plugin, remedy = " the plugin "+asks, "an answer on a terminal"
	}
	return &sdk.Refusal{By: "headless", Reason: fmt.Sprintf(
		"permission %q for %q needs the user's approval, and no user can answer%s; the user can allow it with %s%s",
		r.Permission, several(r.Patterns), plugin, flag, remedy)}
}

// maxNamed bounds the patterns that a refusal names.
const maxNamed = 8

// several joins patterns for a message.
func several(patterns []string) string {
	if n := len(patterns) - maxNamed; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(patterns[:maxNamed], ", "), n)
	}
	return strings.Join(patterns, ", ")
}

// missing returns the missing rule for a request, as it is written in a configuration.
func (rules *Rules) missing(r *sdk.PermissionRequest) string {
	key, patterns := r.Permission, []string(nil)
	for _, p := range r.Patterns {
		if rules.Decide(key, p).Action != sdk.ActionAllow && !slices.Contains(patterns, p) {
			patterns = append(patterns, p)
		}
	}
	if len(patterns) == 0 { // a rule asks for something that the call includes
		for _, i := range r.Implied {
			if d := rules.Decide(i.Permission, i.Pattern); d.Matched && (d.Action == sdk.ActionAsk && d.Rule.Pattern != "*" || i.Maybe && d.Action == sdk.ActionDeny) {
				key, patterns = i.Permission, append(patterns, i.Pattern)
				break
			}
		}
	}
	if len(patterns) == 0 { // a rule about the origin of the tool asks
		patterns = append(patterns, "*")
	}
	more := ""
	if n := len(patterns) - maxNamed; n > 0 {
		more = fmt.Sprintf(" and the same for %d more", n)
		patterns = patterns[:maxNamed]
	}
	list := make([]string, 0, len(patterns))
	for _, p := range patterns {
		list = append(list, quoted(p)+`: "allow"`)
	}
	return fmt.Sprintf(`the rule {"permission": {%s: {%s}}}%s`, quoted(key), strings.Join(list, ", "), more)
}

// quoted returns text as JSON writes it.
func quoted(text string) string { return string(jsontext.Quote(text)) }

// Unanswered returns the refusal of a request that only the user can answer, if no user is available. a is the agent.
func Unanswered(r *sdk.PermissionRequest, d Decision, a *sdk.Agent) error {
	if d.Guarded != "" {
		return &sdk.Refusal{By: "headless", Reason: fmt.Sprintf(
			"permission %q for %q needs the user's approval, because %s can run programs or control agents, and no user can answer; the user can allow it with a rule that names it, such as {\"permission\": {\"edit\": {%s: \"allow\"}}} in tenon.json",
			r.Permission, several(r.Patterns), d.Guarded, quoted(guardedPattern(r, d)))}
	}
	remedy := ""
	if a.Strict {
		remedy = fmt.Sprintf(", or allow it to this agent with a rule under agent.%s.permission in tenon.json", a.Name)
	}
	return &sdk.Refusal{By: "headless", Reason: fmt.Sprintf(
		"permission %q for %q needs the user's approval%s, and no user can answer; --auto and other rules do not allow it: the user can run it on a terminal%s",
		r.Permission, strings.Join(r.Patterns, ", "), origin(d.Rule), remedy)}
}

// guardedPattern returns the guarded file that a decision is about, as a pattern for a rule.
func guardedPattern(r *sdk.PermissionRequest, d Decision) string {
	var files []string
	if r.Permission == editKey {
		files = slices.Clone(r.Patterns)
	}
	for _, i := range r.Implied {
		if i.Permission == editKey {
			files = append(files, i.Pattern)
		}
	}
	if i := slices.IndexFunc(files, func(file string) bool { return guarded(file) == d.Guarded }); i >= 0 {
		return files[i]
	}
	return d.Guarded
}

// Granted logs why a request runs without a question, and returns nil.
func Granted(log *slog.Logger, r *sdk.PermissionRequest, by, from string) error {
	log.Debug("allowed without a question", "permission", r.Permission, "patterns", r.Patterns, "by", by, "from", from)
	return nil
}
