package process

import (
	"context"
	"encoding/json"

	"github.com/tenonhq/tenon/internal/jsonline"
	"github.com/tenonhq/tenon/sdk/process/tenonv1"
)

// host passes requests to take. Requests before this call are refused.
func (c *lineClient) host(_ context.Context, _ *instance, take func(*tenonv1.HostRequest)) error {
	c.take.Store(&take)
	return nil
}

func (c *lineClient) respond(r *tenonv1.HostResponse) error {
	switch {
	case r.More:
		return c.conn.Notify("event", map[string]any{"id": r.Id, "event": json.RawMessage(r.Body)})
	case r.Status != tenonv1.Status_STATUS_OK:
		return c.conn.Reply(r.Id, nil, &jsonline.Error{Code: int(r.Status), Message: string(r.Body)})
	}
	return c.conn.Reply(r.Id, r.Body, nil)
}

// fromProcess handles a request or a notification of the process. Only one goroutine calls it.
func (c *lineClient) fromProcess(m *jsonline.Message) {
	if m.Method == "progress" || m.Method == "stream_event" {
		var call struct{ ID uint64 }
		if json.Unmarshal(m.Params, &call) == nil {
			c.conn.Update(call.ID, m)
		}
		return
	}
	req, problem := hostRequest(m)
	take := c.take.Load()
	if problem == nil && take == nil {
		problem = &jsonline.Error{Code: int(tenonv1.Status_STATUS_UNKNOWN), Message: "the host offers nothing before start"}
	}
	switch {
	case problem == nil:
		(*take)(req)
	case m.ID != 0:
		_ = c.conn.Reply(m.ID, nil, problem) // fails if the connection has ended
	}
}

// hostRequest decodes a request to the host.
func hostRequest(m *jsonline.Message) (*tenonv1.HostRequest, *jsonline.Error) {
	var params struct {
		ID    uint64 `json:"id"`
		Token string `json:"token"`

		Name    string          `json:"name"`
		Request json.RawMessage `json:"request"`

		Types []string `json:"types"`
		Size  uint32   `json:"size"`

		Level      int32           `json:"level"`
		Message    string          `json:"message"`
		Attributes json.RawMessage `json:"attributes"`
	}
	if err := json.Unmarshal(m.Params, &params); err != nil && len(m.Params) > 0 {
		return nil, &jsonline.Error{Code: jsonline.CodeInvalidParams, Message: m.Method + ": " + err.Error()}
	}
	req := &tenonv1.HostRequest{Id: m.ID, Token: params.Token}
	switch m.Method {
	case "operation":
		req.Request = &tenonv1.HostRequest_Operation{Operation: &tenonv1.Operation{Name: params.Name, Request: params.Request}}
	case "subscription":
		req.Request = &tenonv1.HostRequest_Subscription{Subscription: &tenonv1.Subscription{Types: params.Types, Size: params.Size}}
	case "log":
		req.Request = &tenonv1.HostRequest_Log{Log: &tenonv1.Log{Level: params.Level, Message: params.Message, Attributes: params.Attributes}}
	case "cancel":
		req.Id = params.ID
		req.Request = &tenonv1.HostRequest_Cancel{Cancel: &tenonv1.Cancel{}}
	default:
		return nil, &jsonline.Error{Code: jsonline.CodeMethodNotFound, Message: "method " + m.Method + " not found"}
	}
	return req, nil
}
