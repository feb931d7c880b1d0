package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
)

// jsonLine is one line of "tenon run --format json". Type selects the other fields; step_start to error have the names and shapes
// of opencode's:
//
//	session      info        the session, before anything else
//	step_start   part        a step began
//	text         part        a finished block of the answer
//	reasoning    part        a finished block of reasoning
//	tool_use     part        a finished tool call; part.state.status is completed or error
//	step_finish  part        a step ended: reason, tokens, cost
//	error        error       the turn failed: name and data
//	retry        attempt, limit, message, next   a model request failed and is retried
//	permission   request     a permission request
//	notice       plugin, hook, message           a plugin failed and was skipped, denied or quarantined; without
//	                                             a plugin: a damaged row is missing from the conversation
//	compacted                the conversation was summarized
//	subagent     sessionID of the subagent, parentID, event   one of step_start to retry, of a subagent
//	done         result, structured, messageID, model, finish, cost, tokens, steps, durationMS, error, exitCode
//
// The last line is done, unless the process was killed. Every part is stored before its line is written.
type jsonLine struct {
	Type      string     `json:"type"`
	Timestamp sdk.Millis `json:"timestamp"`
	SessionID string     `json:"sessionID"`
	ParentID  string     `json:"parentID,omitempty"`

	Info    *sdk.Session           `json:"info,omitempty"`
	Part    sdk.Part               `json:"part,omitempty"`
	Error   *sdk.NamedError        `json:"error,omitempty"`
	Event   *jsonLine              `json:"event,omitempty"`
	Request *sdk.PermissionRequest `json:"request,omitempty"`

	Attempt int        `json:"attempt,omitempty"`
	Limit   int        `json:"limit,omitempty"`
	Next    sdk.Millis `json:"next,omitempty"`
	Plugin  string     `json:"plugin,omitempty"`
	Hook    string     `json:"hook,omitempty"`
	Message string     `json:"message,omitempty"`
}

// doneLine is the last line.
type doneLine struct {
	Type       string          `json:"type"`
	Timestamp  sdk.Millis      `json:"timestamp"`
	SessionID  string          `json:"sessionID"`
	Result     string          `json:"result"`
	Structured json.RawMessage `json:"structured,omitempty"`
	MessageID  string          `json:"messageID,omitempty"`
	Model      string          `json:"model,omitempty"`
	Finish     string          `json:"finish,omitempty"`
	Cost       sdk.USD         `json:"cost"`
	Tokens     sdk.Tokens      `json:"tokens"`
	Steps      int             `json:"steps"`
	DurationMS int64           `json:"durationMS"`
	Error      string          `json:"error,omitempty"`
	Fix        string          `json:"fix,omitempty"`
	ExitCode   int             `json:"exitCode"`
}

// JSON writes a turn as JSON lines, one per event.
type JSON struct {
	out     Escaper
	line    []byte // buffer of the last line
	turn    *Turn
	f       *follower
	now     func() time.Time
	written map[string]bool // IDs of written parts
	err     error
}

// NewJSON returns a view that writes to w, and writes the first line.
func NewJSON(w io.Writer, turn *Turn) *JSON {
	v := &JSON{out: Escaper{w}, turn: turn, f: newFollower(turn.Session.ID), now: time.Now, written: map[string]bool{}}
	v.write(jsonLine{Type: "session", SessionID: turn.Session.ID, Info: turn.Session})
	return v
}

// Failed returns the first error of writing to stdout, or nil.
func (v *JSON) Failed() error { return v.err }

// Tick does nothing: JSON lines do not depend on time.
func (v *JSON) Tick(time.Time) {}

func (v *JSON) write(l jsonLine) {
	l.Timestamp = v.now().UnixMilli()
	if l.SessionID != v.f.root && l.SessionID != "" {
		inner := l
		l = jsonLine{Type: "subagent", Timestamp: l.Timestamp, SessionID: l.SessionID, ParentID: v.f.parents[l.SessionID], Event: &inner}
	}
	v.encode(l)
}

func (v *JSON) encode(line any) {
	if v.err != nil {
		return
	}
	if v.line, v.err = value.AppendJSON(v.line[:0], line); v.err == nil {
		v.line = append(v.line, '\n')
		_, v.err = v.out.Write(v.line)
	}
}

// Event writes the line of an event, if it has one.
func (v *JSON) Event(e *sdk.Event) {
	v.f.take(e)
	switch p := e.Properties.(type) {
	case *sdk.PartInfo:
		v.part(p.Part)
	case *sdk.SessionErrorInfo:
		v.write(jsonLine{Type: "error", SessionID: p.SessionID, Error: p.Error})
	case *sdk.SessionStatusInfo:
		if s := p.Status; s.Type == sdk.StatusRetry {
			v.write(jsonLine{Type: "retry", SessionID: p.SessionID, Attempt: s.Attempt, Limit: v.turn.Retries, Message: v.turn.Clean(s.Message), Next: s.Next})
		}
	case *sdk.SessionRef:
		if e.Type == sdk.EventSessionCompacted {
			v.write(jsonLine{Type: "compacted", SessionID: p.SessionID})
		}
	case *sdk.PermissionRequest:
		v.write(jsonLine{Type: "permission", SessionID: p.SessionID, Request: p})
	case *sdk.PluginNotice:
		v.write(jsonLine{Type: "notice", SessionID: v.f.root, Plugin: p.Plugin, Hook: p.Hook, Message: p.Message})
	}
}

func (v *JSON) part(p sdk.Part) {
	h, kind := p.Head(), lineOf(p)
	if step := v.f.steps[h.MessageID]; step != nil && !step.Summary && !v.written[h.ID] && kind != "" {
		v.written[h.ID] = true
		v.write(jsonLine{Type: kind, SessionID: h.SessionID, Part: p})
	}
}

// lineOf returns the type of a part's line, or "" if the part is open or has no line.
func lineOf(p sdk.Part) string {
	switch p := p.(type) {
	case *sdk.StepStartPart:
		return "step_start"
	case *sdk.StepFinishPart:
		return "step_finish"
	case *sdk.TextPart:
		if !p.Ignored && !p.Synthetic && p.Time != nil && p.Time.End != 0 {
			return "text"
		}
	case *sdk.ReasoningPart:
		if p.Time.End != 0 {
			return "reasoning"
		}
	case *sdk.ToolPart:
		if !p.State.Open() {
			return "tool_use"
		}
	}
	return ""
}

// Finish writes the last line.
func (v *JSON) Finish(o *Outcome) error {
	steps, tokens, cost := v.f.totals()
	l := doneLine{
		Type: "done", Timestamp: v.now().UnixMilli(), SessionID: v.f.root, Result: AnswerText(o.Message), Structured: structured(o.Message),
		Model: v.f.model, Cost: cost, Tokens: tokens, Steps: steps, DurationMS: o.Took.Milliseconds(),
	}
	if o.Message != nil {
		l.MessageID = o.Message.Info.Head().ID
		if a, ok := o.Message.Info.(*sdk.AssistantMessage); ok {
			l.Finish = a.Finish
		}
	}
	if o.Err != nil {
		l.Error, l.Fix, l.ExitCode = v.turn.Remedy(o.Err)
	}
	v.encode(l)
	return v.err
}

// NewEncoder returns the encoder for all printed JSON. It does not escape HTML characters. It writes characters that control a terminal or
// change the direction of writing as \uXXXX, which has the same meaning.
func NewEncoder(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(Escaper{w})
	enc.SetEscapeHTML(false)
	return enc
}

// Escaper writes JSON with escapes for characters that do not show. Each Write must contain whole characters.
type Escaper struct{ Writer io.Writer }

// Write returns the length of data unless the underlying writer fails.
func (e Escaper) Write(data []byte) (int, error) {
	out, hides := data, func(r rune) bool { return r != '\n' && r != '\t' && terminal.Controls(r) }
	if bytes.ContainsFunc(data, hides) {
		out = nil
		for _, r := range string(data) {
			if hides(r) {
				for _, unit := range utf16.AppendRune(nil, r) {
					out = fmt.Appendf(out, `\u%04x`, unit)
				}
			} else {
				out = utf8.AppendRune(out, r)
			}
		}
	}
	if _, err := e.Writer.Write(out); err != nil {
		return 0, err
	}
	return len(data), nil
}
