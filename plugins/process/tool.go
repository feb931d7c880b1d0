package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
	"github.com/tenonhq/tenon/sdk/process/tenonv1"
)

// remoteTool is tool n of the plugin.
type remoteTool struct {
	super *supervisor
	n     int
	sdk.ToolDescription
}

// preparedTool is a remoteTool that says itself what it needs leave for.
type preparedTool struct{ *remoteTool }

var (
	_ sdk.ToolPermission = (*remoteTool)(nil)
	_ sdk.ToolDeadline   = (*remoteTool)(nil)
	_ sdk.ToolPreparer   = preparedTool{}
)

// Definition returns what the model gets to know.
func (t *remoteTool) Definition() sdk.ToolDefinition { return t.ToolDefinition }

// Permission returns the permission key.
func (t *remoteTool) Permission() string { return orDefault(t.ToolDescription.Permission, t.ID) }

// Deadline returns how long a call may take.
func (t *remoteTool) Deadline() time.Duration {
	return orDefault(time.Duration(t.TimeoutMS)*time.Millisecond, sdk.DefaultToolTimeout)
}

// Execute runs the call in the process.
func (t *remoteTool) Execute(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
	body, err := json.Marshal(call)
	if err != nil {
		return nil, err
	}
	in, err := t.super.instance(ctx)
	if err != nil {
		return nil, err
	}
	ctx, token, done := in.calls.begin(ctx, caller{session: call.SessionID, tool: call.Host})
	defer done()
	stream, err := in.api.Tool(ctx, &tenonv1.ToolRequest{Tool: uint32(t.n), Call: body, Token: token})
	if err != nil {
		return nil, in.explain(err)
	}
	for {
		response, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%w: the tool %s ended without a result", sdk.ErrWire, t.ID)
		}
		if err != nil {
			return nil, in.explain(err)
		}
		switch event := response.Event.(type) {
		case *tenonv1.ToolResponse_Progress:
			t.progress(ctx, call, event.Progress)
		case *tenonv1.ToolResponse_Result:
			result := new(sdk.ToolResult)
			if err := json.Unmarshal(event.Result, result); err != nil {
				return nil, fmt.Errorf("%w: result of the tool %s: %w", sdk.ErrWire, t.ID, err)
			}
			return result, nil
		case *tenonv1.ToolResponse_Failure:
			return nil, t.super.failure(event.Failure)
		}
	}
}

// progress shows what the call does. It goes through the broker, which bounds how often.
func (t *remoteTool) progress(ctx context.Context, call *sdk.ToolCall, p *tenonv1.Progress) {
	if t.super.unit.Broker == nil || call.Host == nil {
		return
	}
	request := struct {
		Title    string          `json:"title"`
		Metadata json.RawMessage `json:"metadata,omitempty"`
	}{p.GetTitle(), p.GetMetadata()}
	if body, err := json.Marshal(request); err == nil {
		t.super.unit.Broker.Do(ctx, caller{session: call.SessionID, tool: call.Host}.broker(), "progress", body)
	}
}

// Prepare asks the process what the call needs leave for.
func (t preparedTool) Prepare(ctx context.Context, call *sdk.ToolCall) ([]sdk.PermissionRequest, error) {
	body, err := json.Marshal(call)
	if err != nil {
		return nil, err
	}
	in, err := t.super.instance(ctx)
	if err != nil {
		return nil, err
	}
	ctx, token, done := in.calls.begin(ctx, caller{session: call.SessionID})
	defer done()
	response, err := in.api.Prepare(ctx, &tenonv1.PrepareRequest{Tool: uint32(t.n), Call: body, Token: token})
	if err != nil {
		return nil, in.explain(err)
	}
	if response.Failure != nil {
		return nil, t.super.failure(response.Failure)
	}
	var needs guest.PrepareResponse
	if err := json.Unmarshal(response.Response, &needs); err != nil {
		return nil, fmt.Errorf("%w: what the tool %s needs leave for: %w", sdk.ErrWire, t.ID, err)
	}
	return needs.Requests, nil
}

// failure turns what the plugin said into an error.
func (s *supervisor) failure(f *tenonv1.Failure) error {
	if f.GetRefused() {
		return &sdk.Refusal{Halt: f.GetHalt(), Reason: f.GetMessage(), By: "plugin " + s.unit.Description.Name}
	}
	return errors.New(orDefault(f.GetMessage(), "the plugin failed without saying why"))
}
