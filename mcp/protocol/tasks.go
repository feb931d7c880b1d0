package protocol

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/tenonhq/tenon/internal/pause"
	"github.com/tenonhq/tenon/internal/visible"
)

// taskPoll is the default and the minimum interval between requests of a task's status.
const taskPoll = time.Second

// callTask calls a tool as a task: the server immediately returns the task's name and keeps the result until it is requested. For the
// host it is a normal call.
func (c *Conn) callTask(ctx context.Context, on *Call, name string, args json.RawMessage) (json.RawMessage, error) {
	return c.do(ctx, on, func(ctx context.Context, meta map[string]any) (json.RawMessage, error) {
		task, err := c.createTask(ctx, map[string]any{
			"name": name, "arguments": args, "_meta": meta, "task": map[string]any{"ttl": MaxCallTime.Milliseconds()},
		})
		if err != nil {
			return nil, err
		}
		id := map[string]any{"taskId": task.ID}
		watch, stop := context.WithCancel(ctx)
		var watching sync.WaitGroup
		watching.Go(func() { c.watchTask(watch, on, id, max(taskPoll, time.Duration(task.Poll)*time.Millisecond)) })
		result, err := c.Request(ctx, string(mcp.MethodTasksResult), id)
		stop()
		watching.Wait()
		if ctx.Err() != nil {
			later(ctx, func(ctx context.Context) { _, _ = c.Request(ctx, string(mcp.MethodTasksCancel), id) })
		}
		return result, err
	})
}

// task is a call that the server runs as a task.
type task struct {
	ID   string `json:"taskId"`
	Poll int64  `json:"pollInterval"` // milliseconds
}

// createTask sends a call that the server turns into a task. After the end of ctx, it waits a moment longer for the task's name, which is
// needed to cancel the task.
func (c *Conn) createTask(ctx context.Context, params map[string]any) (*task, error) {
	if err := ctx.Err(); err != nil {
		return nil, &carrierError{err}
	}
	asking, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(goodbyeTimeout, stop) })()
	var answer struct {
		Task task `json:"task"`
	}
	raw, err := c.Request(asking, string(mcp.MethodToolsCall), params)
	switch {
	case err != nil && ctx.Err() != nil:
		err = &carrierError{ctx.Err()}
	case err == nil && (json.Unmarshal(raw, &answer) != nil || answer.Task.ID == ""):
		err = fmt.Errorf("the server did not run the call to %q as a task", params["name"])
	}
	return &answer.Task, err
}

// watchTask displays a task's status until ctx ends. A status "working" counts as progress of the call.
func (c *Conn) watchTask(ctx context.Context, on *Call, id map[string]any, every time.Duration) {
	for pause.For(ctx, every) == nil {
		raw, err := c.Request(ctx, string(mcp.MethodTasksGet), id)
		var status struct {
			Message string `json:"statusMessage"`
		}
		if err != nil || json.Unmarshal(raw, &status) != nil {
			continue
		}
		on.touch()
		if on.Host != nil && status.Message != "" {
			on.Host.Progress(visible.Bound(status.Message, maxTitle), nil)
		}
	}
}
