package process

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/tenonhq/tenon/internal/jsonline"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk/process/tenonv1"
)

// Names for the tests of single parts.
var (
	Backoff    = backoff
	ClientTLS  = clientTLS
	LineSocket = lineSocket
)

// CheckHandshake checks a handshake line.
func CheckHandshake(line, socketDir string) error {
	_, err := parseHandshake(line, socketDir)
	return err
}

// NewPrinted returns what logs the output of a process, and what it says of its end.
func NewPrinted(log *slog.Logger) (io.Writer, func() string) {
	p := newPrinted(log, &remote.LineLimit{}, "stderr")
	return p, p.why
}

// PrintLog writes a line for each level to the log of a process.
func PrintLog(ctx context.Context, log *slog.Logger, levels ...int32) {
	s := &hostSession{log: log}
	for _, level := range levels {
		s.print(ctx, &tenonv1.Log{Level: level, Message: "line"})
	}
}

// Restarts lets a test end processes at moments of its choice, counted from the first.
type Restarts struct{ r restarts }

// NewRestarts returns the policy with a bound and a first delay.
func NewRestarts(limit int, delay time.Duration) *Restarts {
	return &Restarts{restarts{limit: limit, delay: delay}}
}

// Ended notes an end, and Wait asks how long to wait.
func (r *Restarts) Ended(at time.Time, how error)            { r.r.ended(at, how) }
func (r *Restarts) Wait(at time.Time) (time.Duration, error) { return r.r.wait(at) }

// LinesOnStdio makes processes speak lines on their standard streams, as on Windows.
func LinesOnStdio(o Options) Options {
	o.linesOnStdio = true
	return o
}

// Take decodes a line of a process in all the ways in which it can be meant. It returns an error for a result that breaks the contract.
func Take(ctx context.Context, line []byte) error {
	m, err := jsonline.Decode(line)
	if err != nil {
		return nil
	}
	if req, problem := hostRequest(m); (req == nil) == (problem == nil) || req != nil && req.Request == nil {
		return fmt.Errorf("request %v, problem %v", req, problem)
	}
	if answer := hookResponse(m); len(answer.Answer) > 0 && !json.Valid(answer.Answer) {
		return fmt.Errorf("answer %q", answer.Answer)
	}
	if m.Error == nil {
		return nil
	}
	for _, method := range []string{"hook", "stream", "list_models"} {
		if lineError(ctx, method, m.Error) == nil {
			return fmt.Errorf("%s: the error is lost", method)
		}
	}
	return nil
}
