package commandhooks

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// maxReason is the maximum size of a reason or a message in bytes.
const maxReason = 16 << 10

// exitBlock is the exit code of a command that blocks.
const exitBlock = 2

// reply is the answer of a command.
type reply struct {
	halt     bool   // continue: false
	block    bool   // decision: block, or exitBlock
	allow    bool   // decision: approve
	ask      bool   // permissionDecision: ask
	reason   string // for any of these
	context  string // for the model
	system   string // for the user
	newInput json.RawMessage
	stops    bool // decision.interrupt of PermissionRequest
}

// wireReply is the JSON form of a reply.
type wireReply struct {
	Continue      *bool  `json:"continue"`
	StopReason    string `json:"stopReason"`
	SystemMessage string `json:"systemMessage"`
	Decision      string `json:"decision"`
	Reason        string `json:"reason"`
	Specific      *struct {
		Event                    string          `json:"hookEventName"`
		PermissionDecision       string          `json:"permissionDecision"`
		PermissionDecisionReason string          `json:"permissionDecisionReason"`
		UpdatedInput             json.RawMessage `json:"updatedInput"`
		AdditionalContext        string          `json:"additionalContext"`
		Decision                 *struct {       // of PermissionRequest
			Behavior     string          `json:"behavior"`
			Message      string          `json:"message"`
			UpdatedInput json.RawMessage `json:"updatedInput"`
			Interrupt    bool            `json:"interrupt"`
		} `json:"decision"`
	} `json:"hookSpecificOutput"`
}

// reply interprets the result of a command. Everything except a deliberate answer is an error.
func (o *output) reply(e *entry) (*reply, error) {
	stderr := clip(strings.TrimSpace(string(o.stderr)))
	switch {
	case o.code == exitBlock && isBroken(stderr) && !quotes(stderr, o.input):
		return nil, fmt.Errorf("the command could not run: %s", stderr)
	case o.code == exitBlock && !blockable(e.event):
		return nil, fmt.Errorf("exit code 2, but %s cannot be blocked: %s", e.event, cmp.Or(stderr, "no message"))
	case o.code == exitBlock:
		return &reply{block: true, reason: stderr}, nil
	case o.code != 0:
		return nil, fmt.Errorf("exit code %d, want 0 (continue) or 2 (block): %s", o.code, cmp.Or(stderr, "no message"))
	}
	return parseReply(e.event, o.stdout)
}

// blockable reports whether the event waits for the command's decision.
func blockable(event string) bool {
	return !slices.Contains([]string{sessionStart, sessionEnd, subagentStart, preCompact, postCompact}, event)
}

// brokenLine matches the errors of interpreters that could not run a script at all. Some of them then exit with the code that means
// "block" here.
var brokenLine = lazyregexp.New(`^(` +
	`(\S*/)?(sh|dash|ash|bash|ksh|zsh): ((line )?[0-9]+: |-c: )*([Cc]an't open .*|[Cc]annot open .*|.*not found.*)|` +
	`(\S*/)?[a-z][a-z0-9._+-]*: .*(No such file or directory|Permission denied)\)?|` + // the name of a program, and not "Blocked:"
	`.+: (line )?[0-9]+: ([Ss]yntax error|unexpected EOF while looking for ).*|` +
	`Can't open perl script .*` +
	`)$`)

// sourceLine matches the line of the script that bash prints after a syntax error.
var sourceLine = lazyregexp.New("^(.+: )?(-c: )?line [0-9]+: `.*'$")

// crashed matches the output of a Go program that crashed, which exits with code 2.
var crashed = lazyregexp.New(`(?m)^(panic: |fatal error: |runtime: goroutine stack exceeds )[^\n]*\n(?s:.*)^goroutine \d+ \[`)

// isBroken reports whether the only output of a command is that it could not run or crashed.
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

// complaints are words of which each text that brokenLine or crashed matches contains at least one.
var complaints = []string{"found", "open", "such", "directory", "denied", "syntax", "error", "looking", "goroutine"}

// quotes reports whether the complaint in stderr may be a quotation of the input: commands that block often quote the call, whose words must
// not count as an error of the command. With escape sequences in the input, a shell's echo can produce any word.
func quotes(stderr string, input []byte) bool {
	var decoded map[string]any
	_ = json.Unmarshal(input, &decoded) // an object
	delete(decoded, "cwd")              // these two come from the user
	delete(decoded, "transcript_path")
	said, asked := strings.ToLower(stderr), strings.ToLower(fmt.Sprint(decoded))
	return strings.Contains(asked, `\`) ||
		slices.ContainsFunc(complaints, func(c string) bool { return strings.Contains(said, c) && strings.Contains(asked, c) })
}

// parseReply parses the standard output of a command that exited with code 0: an object, or plain text.
func parseReply(event string, stdout []byte) (*reply, error) {
	stdout = bytes.TrimSpace(bytes.TrimPrefix(stdout, []byte("\uFEFF"))) // PowerShell begins with a byte order mark
	if len(stdout) == 0 {
		return &reply{}, nil
	}
	if stdout[0] != '{' {
		if event == sessionStart || event == userPromptSubmit {
			return &reply{context: strings.ToValidUTF8(string(stdout), "\uFFFD")}, nil
		}
		return &reply{}, nil // such as the output of a formatter
	}
	var w wireReply
	if err := json.Unmarshal(stdout, &w); err != nil {
		return nil, fmt.Errorf("standard output begins with { but is not a valid answer: %w", err)
	}
	r := &reply{system: clip(w.SystemMessage), reason: clip(w.Reason)}
	if w.Continue != nil && !*w.Continue {
		r.halt, r.reason = true, clip(w.StopReason)
	}
	if err := r.decide("decision", w.Decision); err != nil {
		return nil, err
	}
	return r, r.specific(event, &w)
}

// specific applies hookSpecificOutput.
func (r *reply) specific(event string, w *wireReply) error {
	s := w.Specific
	if s == nil {
		return nil
	}
	if s.Event != "" && s.Event != event {
		return fmt.Errorf("hookSpecificOutput.hookEventName is %q, but the event is %s", s.Event, event)
	}
	r.context, r.newInput = s.AdditionalContext, s.UpdatedInput
	if err := r.decide("hookSpecificOutput.permissionDecision", s.PermissionDecision); err != nil {
		return err
	}
	r.reason = cmp.Or(clip(s.PermissionDecisionReason), r.reason)
	if d := s.Decision; d != nil {
		if err := r.decide("hookSpecificOutput.decision.behavior", d.Behavior); err != nil {
			return err
		}
		r.reason = cmp.Or(clip(d.Message), r.reason)
		r.stops = d.Interrupt && r.block
		if len(d.UpdatedInput) > 0 {
			r.newInput = d.UpdatedInput
		}
	}
	if string(r.newInput) == "null" {
		r.newInput = nil
	}
	return nil
}

// decide applies a decision in the older or the newer words. The strictest one wins.
func (r *reply) decide(field, word string) error {
	switch word {
	case "":
	case "block", "deny":
		r.block = true
	case "approve", "allow":
		r.allow = true
	case "ask":
		r.ask = true
	default:
		return fmt.Errorf("%s is %.40q, want allow, deny, ask, approve or block", field, word)
	}
	return nil
}

// args returns updatedInput as arguments.
func (r *reply) args() (sdk.Object, error) {
	if err := value.CheckAnswer([]sdk.Change{{Pointer: "/args", Value: r.newInput}}, "", ""); err != nil {
		return nil, fmt.Errorf("hookSpecificOutput.updatedInput: %w", err)
	}
	var args sdk.Object
	if err := json.Unmarshal(r.newInput, &args); err != nil { // null is dropped by specific
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
