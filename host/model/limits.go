package model

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// blockCost is charged for each block of text or reasoning in addition to its text: every block is stored as a part.
	blockCost = 4 << 10
	// maxToolName bounds the name of a tool in an answer, in bytes. OpenAI allows 64 characters.
	maxToolName = 256
	// maxTitleAnswer bounds the answer to a request for a title, with its reasoning.
	maxTitleAnswer = 1 << 20
	// defaultWhole bounds one answer, from the request to its last event: a local model that writes 2 tokens a second gives
	// 14,000 of them in that time.
	defaultWhole = 2 * time.Hour
	// answerFactor times the longest allowed silence is the default of answerTimeout: a server may keep the connection alive before its answer
	// begins.
	answerFactor = 3
	// longestTimeout replaces longer limits, which a time.Duration may not hold.
	longestTimeout = 1000 * 24 * time.Hour
)

// limitsOf reads the limits of one answer from the options of a provider, in milliseconds: answerTimeout, the time between two events that
// carry a piece of the answer, and totalTimeout; false and 0 mean no limit. "timeout": false switches off those that are not set. The
// protocol's client bounds the silence on the wire; these limits hold for every protocol.
func limitsOf(p *sdk.ProviderInfo) (answer, whole time.Duration, err error) {
	silence := sdk.DefaultIdleTimeout
	whole = defaultWhole
	read := func(name string, fallback time.Duration) time.Duration {
		v := p.Options[name]
		switch ms, ok := v.(float64); {
		case v == nil:
			return fallback
		case v == false:
			return 0
		case ok && ms >= 0:
			return time.Duration(min(ms, float64(longestTimeout.Milliseconds())) * float64(time.Millisecond))
		}
		err = errors.Join(err, fmt.Errorf("%w: provider %s: options.%s is %v, want milliseconds or false", ErrModel, p.ID, name, v))
		return fallback
	}
	if silence = read("timeout", silence); silence == 0 {
		whole = 0
	}
	header, chunk := read("headerTimeout", silence), read("chunkTimeout", silence)
	silence = max(header, chunk)
	if header == 0 || chunk == 0 {
		silence = 0
	}
	answer, whole = read("answerTimeout", answerFactor*silence), read("totalTimeout", whole)
	return cmp.Or(answer, longestTimeout), cmp.Or(whole, longestTimeout), err
}

// Stream asks the model once and bounds its answer, for every protocol and purpose: sdk.MaxModelAnswerBytes, the time without a
// piece of the answer, the whole time. Errors about these bounds are *sdk.ProviderError.
func (m *Model) Stream(ctx context.Context, req *sdk.ModelRequest, sink func(sdk.StreamEvent) error) error {
	answer, whole, err := limitsOf(&m.Provider)
	if err != nil {
		return err
	}
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	count := &meter{provider: m.Provider.ID, sink: sink, limit: sdk.MaxModelAnswerBytes, begins: m.begins}
	if req.Purpose == sdk.PurposeTitle {
		count.limit = maxTitleAnswer
	}
	timer := time.AfterFunc(whole, func() {
		cancel(count.exceeded(sdk.ErrAnswerLimit, "the answer took longer than %s and was cut off; options.totalTimeout of the provider (milliseconds) sets the limit", whole))
	})
	defer timer.Stop()
	count.answer, count.timer = answer, time.AfterFunc(answer, func() {
		cancel(count.exceeded(os.ErrDeadlineExceeded, "the server sent no part of an answer for %s, although the connection is open; options.answerTimeout of the provider (milliseconds) sets the limit", answer))
	})
	defer count.timer.Stop()
	err = m.client.Stream(limited, req, count.take)
	if !Unreachable(err) {
		m.provider.answered.Store(true)
	}
	var bound *sdk.ProviderError
	if ctx.Err() == nil && err != nil && errors.As(context.Cause(limited), &bound) {
		return bound
	}
	if errors.As(err, &bound) {
		return m.provider.explained(bound)
	}
	return err
}

// explained returns an error of a provider with the notes that help the user. Texts of the server or a plugin control no terminal.
func (p *provider) explained(e *sdk.ProviderError) *sdk.ProviderError {
	out := *e
	out.Message = visible.Text(e.Message)
	if e.Err != nil {
		out.Err = &shownError{e.Err}
	}
	if out.Message != "" && slices.Contains(addressStatus, e.StatusCode) {
		out.Message += p.addressNote()
	}
	return &out
}

// shownError is an error whose text may be from outside.
type shownError struct{ err error }

func (e *shownError) Error() string {
	return visible.Text(visible.Cut(e.err.Error(), maxErrorText, "…"))
}
func (e *shownError) Unwrap() error { return e.err }

// addressStatus lists the statuses of failures that may be caused by a wrong address; 0 means no response.
var addressStatus = []int{0, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed}

// meter measures one answer. Only its provider's goroutine calls take and resets the timer.
type meter struct {
	provider string
	sink     func(sdk.StreamEvent) error
	limit    int // in bytes
	taken    int
	begins   func() // is called with the first event; nil: no callback
	block    string // key of the latest block of text or reasoning
	answer   time.Duration
	timer    *time.Timer
}

// take passes on an event within the limits.
func (m *meter) take(e sdk.StreamEvent) error {
	if m.begins != nil {
		m.begins()
		m.begins = nil
	}
	cost := storedSize(e.Text) + len(e.CallID) + len(e.Tool)
	if len(e.Metadata) > 0 {
		data, err := json.Marshal(e.Metadata)
		if err != nil {
			return &sdk.ProviderError{ProviderID: m.provider, Cut: true, Err: fmt.Errorf("metadata of an event: %w", err)}
		}
		cost += len(data)
	}
	if cost > 0 {
		m.timer.Reset(m.answer)
	}
	if spoken := e.Type == sdk.StreamText || e.Type == sdk.StreamReasoning; spoken && cost > 0 && m.block != e.Type+e.ID {
		m.block = e.Type + e.ID
		cost += blockCost
	}
	if m.taken += cost; m.taken > m.limit {
		return m.exceeded(sdk.ErrAnswerLimit, "the answer is longer than %d MiB and was cut off; the model or its server probably repeats itself", m.limit>>20)
	}
	e.Tool = visible.Cut(e.Tool, maxToolName, "…")
	return m.sink(e)
}

// storedSize returns the approximate number of bytes that a text takes as JSON: a control character takes six.
func storedSize(text string) int {
	n := len(text)
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\' || c == '\n' || c == '\r' || c == '\t':
			n++
		case c < ' ':
			n += len(`\u0000`) - 1
		}
	}
	return n
}

// exceeded returns the error for an answer beyond a limit. An answer without further events counts as broken off.
func (m *meter) exceeded(err error, format string, limit any) error {
	return &sdk.ProviderError{ProviderID: m.provider, Cut: err == os.ErrDeadlineExceeded, Err: err, Message: fmt.Sprintf(format, limit)}
}
