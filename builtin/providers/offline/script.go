package offline

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

// ErrScript is wrapped by every error about a script.
var ErrScript = errors.New("bad script")

// maxScript is the maximum size of a script in bytes.
const maxScript = 16 << 20

// maxDelay is the maximum delay before a reply.
const maxDelay = time.Hour

// script contains the replies for users' turns and for subagents' turns.
type script struct {
	path          string
	turn, subtask []step
}

// step is one reply, as a script has it.
type step struct {
	Text      string       `json:"text"`
	Reasoning string       `json:"reasoning"`
	ToolCalls []toolCall   `json:"toolCalls"`
	Finish    string       `json:"finish"` // a Finish constant; if empty, it depends on the calls
	Error     *scriptError `json:"error"`
	DelayMS   int64        `json:"delayMs"`

	at int // position in the script or the conversation, for the IDs of the calls
}

type toolCall struct {
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"` // a string is sent verbatim, so it can be invalid JSON
}

// scriptError makes the request fail, after the text and calls of the step.
type scriptError struct {
	Status  int               `json:"status"`
	Message string            `json:"message"`
	Code    string            `json:"code"`
	Headers map[string]string `json:"headers"`
	Cut     bool              `json:"cut"`
}

// readScript reads a script: a list of steps, an object with the lists turn and subtask, or one step per
// line. Errors wrap ErrScript and name the file and the step.
func readScript(path string) (*script, error) {
	s := &script{path: path}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrScript, err)
	}
	data, cut, err := projectfs.ReadLimited(f, maxScript)
	switch {
	case cut:
		err = fmt.Errorf("larger than %d MiB", maxScript>>20)
	case err == nil:
		err = s.parse(data)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %q: %w", ErrScript, path, err)
	}
	return s, nil
}

func (s *script) parse(data []byte) error {
	values, err := jsonValues(data)
	if err != nil {
		return err
	}
	if len(values) == 1 {
		var lists map[string]json.RawMessage
		if json.Unmarshal(values[0], &lists) == nil && (lists["turn"] != nil || lists["subtask"] != nil) {
			return s.parseLists(values[0])
		}
		if values[0][0] == '[' {
			err = json.Unmarshal(values[0], &values)
		}
	}
	if err == nil {
		s.turn, err = parseSteps(values)
	}
	s.subtask = s.turn
	return err
}

// jsonValues returns the consecutive JSON values in data.
func jsonValues(data []byte) (values []json.RawMessage, err error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	for {
		var value json.RawMessage
		if err := dec.Decode(&value); errors.Is(err, io.EOF) {
			return values, nil
		} else if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
}

func (s *script) parseLists(data json.RawMessage) (err error) {
	var lists struct {
		Turn    []json.RawMessage `json:"turn"`
		Subtask []json.RawMessage `json:"subtask"`
	}
	if err := strict(data, &lists); err != nil {
		return err
	}
	if s.turn, err = parseSteps(lists.Turn); err != nil {
		return fmt.Errorf("turn: %w", err)
	}
	if s.subtask, err = parseSteps(lists.Subtask); err != nil {
		return fmt.Errorf("subtask: %w", err)
	}
	return nil
}

func parseSteps(values []json.RawMessage) ([]step, error) {
	steps := make([]step, len(values))
	for i, value := range values {
		err := strict(value, &steps[i])
		if err == nil {
			err = steps[i].validate()
		}
		steps[i].at = i
		if err != nil {
			return nil, fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return steps, nil
}

// strict decodes raw into v and rejects unknown fields.
func strict(raw json.RawMessage, v any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	return dec.Decode(v)
}

func (s *step) validate() error {
	for _, call := range s.ToolCalls {
		if call.Tool == "" {
			return errors.New("toolCalls: a call has no tool")
		}
	}
	reasons := []string{
		"", sdk.FinishStop, sdk.FinishLength, sdk.FinishToolCalls, sdk.FinishContentFilter, sdk.FinishError, sdk.FinishOther, sdk.FinishUnknown,
	}
	if !slices.Contains(reasons, s.Finish) {
		return fmt.Errorf("finish: unknown reason %q", s.Finish)
	}
	if s.DelayMS < 0 || s.DelayMS > maxDelay.Milliseconds() {
		return fmt.Errorf("delayMs: want 0 to %[2]d, have %[1]d", s.DelayMS, maxDelay.Milliseconds())
	}
	return nil
}

// position is a position in the script of a session: before reply n.
type position struct {
	session string
	reply   int
}

// scripted returns the next reply. The position in the script follows from the conversation, which has one answer
// for each step. Steps that fail leave no answer: c.failed counts those that this process has returned.
func (c *client) scripted(s *script, req *sdk.ModelRequest) *step {
	steps := s.turn
	if req.Purpose == sdk.PurposeSubtask {
		steps = s.subtask
	}
	at := position{req.SessionID, answers(req.Messages)}
	c.mu.Lock()
	defer c.mu.Unlock()
	replies, failures := 0, 0
	for i := range steps {
		switch {
		case replies == at.reply && steps[i].Error == nil:
			return &steps[i]
		case replies == at.reply && failures == c.failed[at]:
			c.failed[at]++
			return &steps[i]
		case replies == at.reply:
			failures++
		case steps[i].Error == nil:
			replies++
		}
	}
	return &step{Text: fmt.Sprintf("The script %s has no more replies: %d were given.", s.path, at.reply)}
}

// answers counts the model's answers in the conversation. A summary contains the number of those it replaced.
func answers(messages []sdk.ModelMessage) int {
	n := 0
	for i := range messages {
		if messages[i].Role != sdk.RoleAssistant {
			continue
		}
		n++
		for j := range messages[i].Content {
			given, _ := repliesGiven(messages[i].Content[j].Text)
			n = max(n, given)
		}
	}
	return n
}

// arguments returns the text of the call's arguments.
func (c *toolCall) arguments() string {
	var text string
	if len(c.Args) > 0 && c.Args[0] == '"' && json.Unmarshal(c.Args, &text) == nil {
		return text
	}
	return cmp.Or(string(c.Args), "{}")
}
