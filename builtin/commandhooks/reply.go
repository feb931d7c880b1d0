package commandhooks

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// maxReason is the maximum size of a reason or a message in bytes.
const maxReason = 16 << 10

// exitBlock is the exit code of a command that blocks.
const exitBlock = 2

// verdict is a decision of a command. The strictest of several applies.
type verdict int

const (
	none verdict = iota
	allow
	ask
	block
	halt // continue: false
)

// verdicts returns the verdicts by the words for them, the older and the newer ones.
func verdicts() map[string]verdict {
	return map[string]verdict{"": none, "approve": allow, "allow": allow, "ask": ask, "deny": block, "block": block}
}

// reply is the answer of a command.
type reply struct {
	verdict   verdict
	reason    string // for the verdict
	context   string // for the model
	system    string // for the user
	newInput  json.RawMessage
	newOutput *string
}

// wireReply is the JSON form of a reply. A permissionDecision outside of hookSpecificOutput, where some programs have it, counts, too: a guard
// must not let calls pass because of its place.
type wireReply struct {
	permissionDecision
	Continue      *bool  `json:"continue"`
	StopReason    string `json:"stopReason"`
	SystemMessage string `json:"systemMessage"`
	Decision      string `json:"decision"`
	Reason        string `json:"reason"`
	Specific      struct {
		permissionDecision
		Event             string          `json:"hookEventName"`
		UpdatedInput      json.RawMessage `json:"updatedInput"`
		UpdatedToolOutput newOutput       `json:"updatedToolOutput"`
		AdditionalContext string          `json:"additionalContext"`
		Decision          struct {        // of PermissionRequest
			Behavior     string          `json:"behavior"`
			Message      string          `json:"message"`
			UpdatedInput json.RawMessage `json:"updatedInput"`
			Interrupt    bool            `json:"interrupt"`
		} `json:"decision"`
	} `json:"hookSpecificOutput"`
}

// newOutput is an updatedToolOutput as the text that the model sees; nil without one.
type newOutput struct{ text *string }

// UnmarshalJSON parses a text, or the fields of tool_response that hold the text of the output. Any other value is the output as JSON.
func (n *newOutput) UnmarshalJSON(data []byte) error {
	var fields struct{ Stdout, Stderr, Output *string }
	if json.Unmarshal(data, &n.text) == nil {
		return nil
	}
	if json.Unmarshal(data, &fields) != nil {
		fields.Stdout, fields.Output = nil, nil // allocated before the type was found to be wrong
	}
	if n.text = cmp.Or(fields.Stdout, fields.Output); n.text == nil {
		n.text = new(string(data)) // of another form: the model must not see what it replaces
	}
	if fields.Stdout != nil && fields.Stderr != nil {
		*n.text += *fields.Stderr
	}
	return nil
}

type permissionDecision struct {
	PermissionDecision       string `json:"permissionDecision"`
	PermissionDecisionReason string `json:"permissionDecisionReason"`
}

// reply interprets the result of a command. Everything except a deliberate answer is an error. A written refusal or request to
// ask is deliberate, even if the command fails after it.
func (o *output) reply(e *entry) (*reply, error) {
	stderr := clip(strings.TrimSpace(string(o.stderr)))
	answer, err := parseReply(e.event, o.stdout)
	answered := err == nil && answer.verdict > allow && blockable(e.event)
	switch {
	case o.code == 0, answered && (o.code != exitBlock || answer.verdict >= block):
		return answer, err
	case o.code == exitBlock && !answered && isBroken(stderr) && !quotes(stderr, o.input):
		return nil, fmt.Errorf("the command could not run: %s", stderr)
	case o.code == exitBlock && !blockable(e.event):
		return nil, fmt.Errorf("exit code 2, but %s cannot be blocked: %s", e.event, cmp.Or(stderr, "no message"))
	case o.code == exitBlock:
		if err != nil {
			answer = &reply{}
		}
		answer.decide(block, stderr)
		return answer, nil
	case o.code < 0:
		return nil, fmt.Errorf("the command was ended by %s", o.ended)
	}
	return nil, fmt.Errorf("exit code %d, want 0 (continue) or 2 (block): %s", o.code, cmp.Or(stderr, "no message"))
}

// blockable reports whether the event waits for the command's decision.
func blockable(event string) bool {
	return !slices.Contains([]string{sessionStart, sessionEnd, subagentStart, preCompact, postCompact}, event)
}

// brokenLine matches the errors of interpreters that could not run a script at all. Some of them then exit with the code that means
// "block" here.
var brokenLine = lazyregexp.New(`^(` +
	`(\S*/)?(sh|dash|ash|bash|ksh|zsh): ((line )?[0-9]+: |-c: )*([Cc]an't open .*|[Cc]annot open .*|.*not found.*)|` +
	`(\S*/)?[a-z][a-z0-9._+-]*: .*(No such file or directory|Permission denied)\)?|` + // preceded by the name of a program, unlike "Blocked:"
	`.+: (line )?[0-9]+: ([Ss]yntax error|unexpected EOF while looking for ).*|` +
	`Can't open perl script .*` +
	`)$`)

// sourceLine matches the line of the script that bash prints after a syntax error.
var sourceLine = lazyregexp.New("^(.+: )?(-c: )?line [0-9]+: `.*'$")

// crashed matches the output of a Go program that crashed, which exits with code 2.
var crashed = lazyregexp.New(`(?m)^(panic: |fatal error: |runtime: goroutine stack exceeds )[^\n]*\n(?s:.*)^goroutine \d+ \[`)

// isBroken reports whether the output of a command shows only that it could not run or crashed.
func isBroken(stderr string) bool {
	if crashed().MatchString(stderr) {
		return true
	}
	broken := false
	for line := range strings.Lines(stderr) {
		switch line = strings.TrimSpace(line); {
		case brokenLine().MatchString(line):
			broken = true
		case line != "" && !sourceLine().MatchString(line):
			return false
		}
	}
	return broken
}

// complaints are words. Every text that brokenLine or crashed matches contains at least one of them.
var complaints = []string{"found", "open", "such", "directory", "denied", "syntax", "error", "looking", "goroutine"}

// quotes reports whether the complaint in stderr may be a quotation of the input: commands that block often quote the call, whose words must
// not count as an error of the command. With escape sequences in the input, a shell's echo can produce any word.
func quotes(stderr string, input []byte) bool {
	var decoded map[string]any
	_ = json.Unmarshal(input, &decoded) // an object
	delete(decoded, "cwd")              // set by tenon, not by the model
	said, asked := strings.ToLower(stderr), strings.ToLower(fmt.Sprint(decoded))
	return strings.Contains(asked, `\`) ||
		slices.ContainsFunc(complaints, func(c string) bool { return strings.Contains(said, c) && strings.Contains(asked, c) })
}

// goneAsync matches the first line of a command that continues in the background in Claude Code; its answer follows.
var goneAsync = lazyregexp.New(`^\{\s*"async"\s*:\s*true\b[^{}\n]*\}\s*\n`)

// parseReply parses the standard output of a command: an object, or plain text.
func parseReply(event string, stdout []byte) (*reply, error) {
	stdout = bytes.TrimSpace(bytes.TrimPrefix(stdout, []byte("\uFEFF"))) // PowerShell begins with a byte order mark
	stdout = goneAsync().ReplaceAllLiteral(stdout, nil)
	if !bytes.HasPrefix(stdout, []byte("{")) {
		if event == sessionStart || event == userPromptSubmit {
			return &reply{context: strings.ToValidUTF8(string(stdout), "\uFFFD")}, nil
		}
		return &reply{}, nil // such as the output of a formatter
	}
	var w wireReply
	if err := json.Unmarshal(stdout, &w); err != nil {
		return nil, fmt.Errorf("standard output begins with { but is not a valid answer: %w", jsontext.Mismatch(err))
	}
	return w.reply(event)
}

// reply returns the answer.
func (w *wireReply) reply(event string) (*reply, error) {
	s := &w.Specific
	if s.Event != "" && s.Event != event {
		return nil, fmt.Errorf("hookSpecificOutput.hookEventName is %q, but the event is %s", s.Event, event)
	}
	r := &reply{system: clip(w.SystemMessage), context: s.AdditionalContext, newInput: s.UpdatedInput, newOutput: s.UpdatedToolOutput.text}
	if len(s.Decision.UpdatedInput) > 0 {
		r.newInput = s.Decision.UpdatedInput
	}
	if string(r.newInput) == "null" {
		r.newInput = nil
	}
	for _, d := range []struct{ field, word, reason string }{
		{"decision", w.Decision, w.Reason},
		{"permissionDecision", w.PermissionDecision, w.PermissionDecisionReason},
		{"hookSpecificOutput.permissionDecision", s.PermissionDecision, s.PermissionDecisionReason},
		{"hookSpecificOutput.decision.behavior", s.Decision.Behavior, s.Decision.Message},
	} {
		v, known := verdicts()[d.word]
		if !known {
			return nil, fmt.Errorf("%s is %.40q, want allow, deny, ask, approve or block", d.field, d.word)
		}
		r.decide(v, d.reason)
	}
	switch {
	case w.Continue != nil && !*w.Continue:
		r.decide(halt, w.StopReason)
	case s.Decision.Interrupt && r.verdict == block && event == permissionRequest:
		r.verdict = halt
	}
	return r, nil
}

// decide adds a decision. If a stricter decision follows, the reason of an earlier one that does not refuse is dropped.
func (r *reply) decide(v verdict, reason string) {
	if v > r.verdict && (r.verdict == allow || r.verdict == ask) {
		r.reason = ""
	}
	if v >= r.verdict || v == none && r.reason == "" {
		r.reason = cmp.Or(clip(reason), r.reason)
	}
	r.verdict = max(r.verdict, v)
}

// args returns updatedInput as arguments.
func (r *reply) args() (sdk.Object, error) {
	if err := value.CheckAnswer([]sdk.Change{{Pointer: "/args", Value: r.newInput}}, "", ""); err != nil {
		return nil, fmt.Errorf("hookSpecificOutput.updatedInput: %w", err)
	}
	var args sdk.Object
	if err := json.Unmarshal(r.newInput, &args); err != nil { // null was dropped
		return nil, fmt.Errorf("hookSpecificOutput.updatedInput: want an object with all arguments: %w", err)
	}
	return args, nil
}

// because returns the reason or, without one, a text that names the command.
func (r *reply) because(e *entry) string {
	return cmp.Or(r.reason, "refused by the command hook "+e.where+" without a reason")
}

// clip limits a human-readable text.
func clip(s string) string {
	return visible.Cut(strings.ToValidUTF8(s, "\uFFFD"), maxReason, " …")
}
