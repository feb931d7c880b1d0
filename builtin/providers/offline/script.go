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

	"github.com/tenonhq/tenon/sdk"
)

// ErrScript is wrapped by every error about a script.
var ErrScript = errors.New("bad script")

// maxScript bounds the size of a script.
const maxScript = 16 << 20

// maxDelay bounds the wait before a reply.
const maxDelay = time.Hour

// script holds the replies for the turns of users and for those of subagents.
type script struct {
	path          string
	turn, subtask []step
}

// step is one reply of a script.
type step struct {
	Text      string       `json:"text"`
	Reasoning string       `json:"reasoning"`
	ToolCalls []scriptCall `json:"toolCalls"`
	Finish    string       `json:"finish"`
	Error     *scriptError `json:"error"`
	DelayMS   int64        `json:"delayMs"`
}

type scriptCall struct {
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"` // a text goes out as it is, so that it need not be JSON
}

// scriptError fails the request in place of a reply; with text or calls beside it, behind them.
type scriptError struct {
	Status  int               `json:"status"`
	Message string            `json:"message"`
	Code    string            `json:"code"`
	Headers map[string]string `json:"headers"`
	Cut     bool              `json:"cut"`
}

// readScript reads a script: a list of steps; an object with the lists turn and subtask; or one step a
// line. Errors wrap ErrScript and name the file and the step.
func readScript(path string) (*script, error) {
	bad := func(err error) (*script, error) { return nil, fmt.Errorf("%w: %q: %w", ErrScript, path, err) }
	f, err := os.Open(path)
	if err != nil {
		return bad(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxScript+1))
	if err != nil {
		return bad(err)
	}
	if len(data) > maxScript {
		return bad(fmt.Errorf("it is larger than %d MiB", maxScript>>20))
	}
	s, err := parseScript(data)
	if err != nil {
		return bad(err)
	}
	s.path = path
	return s, nil
}

func parseScript(data []byte) (*script, error) {
	raws, err := values(data)
	if err != nil {
		return nil, err
	}
	if len(raws) == 1 && raws[0][0] == '[' {
		if err := json.Unmarshal(raws[0], &raws); err != nil {
			return nil, err
		}
	} else if len(raws) == 1 && byPurpose(raws[0]) {
		return parseByPurpose(raws[0])
	}
	steps, err := parseSteps(raws)
	return &script{turn: steps, subtask: steps}, err
}

// values returns the JSON values that follow each other in data.
func values(data []byte) ([]json.RawMessage, error) {
	var raws []json.RawMessage
	dec := json.NewDecoder(bytes.NewReader(data))
	for {
		var raw json.RawMessage
		err := dec.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return raws, nil
		}
		if err != nil {
			return nil, err
		}
		raws = append(raws, raw)
	}
}

func byPurpose(raw json.RawMessage) bool {
	var fields map[string]json.RawMessage
	return json.Unmarshal(raw, &fields) == nil && (fields["turn"] != nil || fields["subtask"] != nil)
}

func parseByPurpose(raw json.RawMessage) (*script, error) {
	var lists struct {
		Turn    []json.RawMessage `json:"turn"`
		Subtask []json.RawMessage `json:"subtask"`
	}
	if err := strict(raw, &lists); err != nil {
		return nil, err
	}
	turn, err := parseSteps(lists.Turn)
	if err != nil {
		return nil, fmt.Errorf("turn: %w", err)
	}
	subtask, err := parseSteps(lists.Subtask)
	if err != nil {
		return nil, fmt.Errorf("subtask: %w", err)
	}
	return &script{turn: turn, subtask: subtask}, nil
}

func parseSteps(raws []json.RawMessage) ([]step, error) {
	steps := make([]step, len(raws))
	for i, raw := range raws {
		if err := strict(raw, &steps[i]); err != nil {
			return nil, fmt.Errorf("step %d: %w", i+1, err)
		}
		if err := steps[i].validate(); err != nil {
			return nil, fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return steps, nil
}

// strict decodes raw and refuses fields that v does not have.
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
		return fmt.Errorf("delayMs: %d is not from 0 to %d", s.DelayMS, maxDelay.Milliseconds())
	}
	return nil
}

// place is a place in the script of a session: before the n-th reply.
type place struct {
	session string
	reply   int
}

// scripted returns the reply that is due. The place in the script follows from the conversation: it has
// one answer of the model for each step that was given. Steps that fail leave no answer; how often this
// process failed at a place tells which of them, or the reply behind them, comes next.
func (c *client) scripted(s *script, req *sdk.ModelRequest) *reply {
	steps := s.turn
	if req.Purpose == sdk.PurposeSubtask {
		steps = s.subtask
	}
	at := place{req.SessionID, answers(req.Messages)}
	c.mu.Lock()
	defer c.mu.Unlock()
	skip := c.failed[at]
	for i, replies := 0, 0; i < len(steps); i++ {
		switch {
		case replies == at.reply && steps[i].Error != nil && skip > 0:
			skip--
		case replies == at.reply:
			if steps[i].Error != nil {
				c.failed[at]++
			}
			return c.stepReply(&steps[i], req, i)
		case steps[i].Error == nil:
			replies++
		}
	}
	return &reply{text: fmt.Sprintf("The script %s has no more replies: %d were given.", s.path, at.reply)}
}

// answers counts the answers of the model in the conversation. A summary says how many it stands for.
func answers(messages []sdk.ModelMessage) int {
	var s summed
	for i := range messages {
		before := s.replies
		s.readMessage(&messages[i])
		if s.replies < before {
			s.replies = before // a text that only looks like the line of a summary
		}
	}
	return s.replies
}

func (c *client) stepReply(s *step, req *sdk.ModelRequest, index int) *reply {
	r := &reply{reasoning: s.Reasoning, text: s.Text, finish: s.Finish, delay: time.Duration(s.DelayMS) * time.Millisecond}
	for i, call := range s.ToolCalls {
		r.calls = append(r.calls, replyCall{callID(req, index, i), call.Tool, call.arguments()})
	}
	if e := s.Error; e != nil {
		r.err = &sdk.ProviderError{
			ProviderID: c.id, StatusCode: e.Status, Message: cmp.Or(e.Message, "the script fails here"), Code: e.Code, Headers: e.Headers, Cut: e.Cut,
		}
	}
	return r
}

// arguments returns the text that goes out as the call's arguments.
func (c *scriptCall) arguments() string {
	var text string
	if len(c.Args) > 0 && c.Args[0] == '"' && json.Unmarshal(c.Args, &text) == nil {
		return text
	}
	return cmp.Or(string(c.Args), "{}")
}
