package offline

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

// ErrScript is wrapped by every error about a script.
var ErrScript = errors.New("bad script")

// maxScript is the maximum size of a script in bytes.
const maxScript = 16 << 20

// script contains the replies of a session.
type script struct {
	path  string
	steps []step
}

// step is one reply in a script.
type step struct {
	Text      string     `json:"text"`
	Reasoning string     `json:"reasoning"`
	ToolCalls []toolCall `json:"toolCalls"`

	at int // position in the script or the conversation, for the IDs of the calls
}

type toolCall struct {
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"` // a string is sent verbatim, so it can be invalid JSON
}

// readScript reads a script, which is a list of steps. Errors wrap ErrScript and name the file and the step.
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
	var values []json.RawMessage
	if err := json.Unmarshal(data, &values); err != nil {
		return fmt.Errorf("want a JSON list of steps: %w", err)
	}
	s.steps = make([]step, len(values))
	for i, value := range values {
		err := jsontext.DecodeStrict(value, &s.steps[i])
		for _, call := range s.steps[i].ToolCalls {
			if call.Tool == "" {
				err = cmp.Or(err, errors.New("toolCalls: a call has no tool"))
			}
		}
		if err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
		s.steps[i].at = i
	}
	return nil
}

// reply returns the next reply of a conversation, which has one answer for each step.
func (s *script) reply(messages []sdk.ModelMessage) *step {
	given := 0
	for i := range messages {
		if messages[i].Role == sdk.RoleAssistant {
			given++
		}
	}
	if given < len(s.steps) {
		return &s.steps[given]
	}
	return &step{Text: fmt.Sprintf("The script %s has no more replies: %d were given.", s.path, given)}
}

// arguments returns the text of the call's arguments.
func (c *toolCall) arguments() string {
	var text string
	if len(c.Args) > 0 && c.Args[0] == '"' && json.Unmarshal(c.Args, &text) == nil {
		return text
	}
	return cmp.Or(string(c.Args), "{}")
}
