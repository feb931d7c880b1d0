package process

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/tenonhq/tenon/plugins/ability"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/process/tenonv1"
)

// RunTool runs a call of tool n in the process.
func (s *supervisor) RunTool(ctx context.Context, n int, call *sdk.ToolCall, body []byte) ([]byte, error) {
	in, err := s.instance(ctx)
	if err != nil {
		return nil, err
	}
	ctx, token, done := in.calls.begin(ctx, runningCall{Caller: ability.Caller{SessionID: call.SessionID, Tool: call.Host}})
	defer done()
	stream, err := in.api.Tool(ctx, &tenonv1.ToolRequest{Tool: uint32(n), Call: body, Token: token})
	if err != nil {
		return nil, in.explain(err)
	}
	for {
		response, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%w: the tool %s ended without a result", sdk.ErrWire, s.Description.Tools[n].ID)
		}
		if err != nil {
			return nil, in.explain(err)
		}
		switch event := response.Event.(type) {
		case *tenonv1.ToolResponse_Progress:
			s.progress(ctx, call, event.Progress)
		case *tenonv1.ToolResponse_Result:
			return event.Result, nil
		case *tenonv1.ToolResponse_Failure:
			return nil, s.failure(event.Failure)
		}
	}
}

// progress reports the progress of a call through the broker, which limits the rate.
func (s *supervisor) progress(ctx context.Context, call *sdk.ToolCall, p *tenonv1.Progress) {
	if s.Broker == nil || call.Host == nil {
		return
	}
	request := struct {
		Title    string          `json:"title"`
		Metadata json.RawMessage `json:"metadata,omitempty"`
	}{p.GetTitle(), p.GetMetadata()}
	if body, err := json.Marshal(request); err == nil {
		s.Broker.Do(ctx, ability.Caller{SessionID: call.SessionID, Tool: call.Host}, "progress", body)
	}
}

// PrepareTool asks the process which permissions a call of tool n requires.
func (s *supervisor) PrepareTool(ctx context.Context, n int, call *sdk.ToolCall, body []byte) ([]byte, error) {
	in, err := s.instance(ctx)
	if err != nil {
		return nil, err
	}
	ctx, token, done := in.calls.begin(ctx, runningCall{Caller: ability.Caller{SessionID: call.SessionID}})
	defer done()
	response, err := in.api.Prepare(ctx, &tenonv1.PrepareRequest{Tool: uint32(n), Call: body, Token: token})
	if err != nil {
		return nil, in.explain(err)
	}
	if response.Failure != nil {
		return nil, s.failure(response.Failure)
	}
	if len(response.Response) == 0 { // the call must not run without permission
		return nil, fmt.Errorf("%w: the tool %s returned no permissions", sdk.ErrWire, s.Description.Tools[n].ID)
	}
	return response.Response, nil
}

// Auth calls a sign-in method in the process.
func (s *supervisor) Auth(ctx context.Context, request []byte, user sdk.AuthUser) ([]byte, error) {
	in, err := s.instance(ctx)
	if err != nil {
		return nil, err
	}
	ctx, token, done := in.calls.begin(ctx, runningCall{Caller: ability.Caller{User: user}})
	defer done()
	response, err := in.api.Auth(ctx, &tenonv1.AuthRequest{Request: request, Token: token})
	if err != nil {
		return nil, in.explain(err)
	}
	if response.Failure != nil {
		return nil, s.failure(response.Failure)
	}
	return response.Answer, nil
}

// failure returns the error for a failure the plugin reported.
func (s *supervisor) failure(f *tenonv1.Failure) error {
	if f.GetRefused() {
		return &sdk.Refusal{Halt: f.GetHalt(), Reason: f.GetMessage(), By: "plugin " + s.Description.Name}
	}
	return errors.New(cmp.Or(f.GetMessage(), "the plugin failed without a message"))
}
