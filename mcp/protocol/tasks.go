package protocol

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/tenonhq/tenon/internal/visible"
)

// taskPoll is the default and the minimum interval between requests of a task's status.
const taskPoll = time.Second

// callTask calls a tool as a task: the server immediately returns the task's name and keeps the result until it is requested. For the
// host it is a normal call.
func (c *Conn) callTask(ctx context.Context, on *Call, limit time.Duration, name string, args json.RawMessage) (json.RawMessage, error) {
	return c.do(ctx, on, limit, func(ctx context.Context, meta map[string]any) (json.RawMessage, error) {
		created, err := c.Request(ctx, string(mcp.MethodToolsCall), map[string]any{
			"name": name, "arguments": args, "_meta": meta, "task": map[string]any{"ttl": MaxCallTime.Milliseconds()},
		})
		if err != nil {
			return nil, err
		}
		var answer struct {
			Task struct {
				ID   string `json:"taskId"`
				Poll int64  `json:"pollInterval"` // milliseconds
			} `json:"task"`
		}
		if err := json.Unmarshal(created, &answer); err != nil || answer.Task.ID == "" {
			return nil, fmt.Errorf("the server did not run the call to %q as a task", name)
		}
		id := map[string]any{"taskId": answer.Task.ID}
		watch, stop := context.WithCancel(ctx)
		var watching sync.WaitGroup
		watching.Go(func() { c.watchTask(watch, on, id, max(taskPoll, time.Duration(answer.Task.Poll)*time.Millisecond)) })
		result, err := c.Request(ctx, string(mcp.MethodTasksResult), id)
		stop()
		watching.Wait()
		if ctx.Err() != nil {
			c.cancelTask(ctx, id)
		}
		return result, err
	})
}

// watchTask displays a task's status until ctx ends. A status "working" counts as progress of the call.
func (c *Conn) watchTask(ctx context.Context, on *Call, id map[string]any, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
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

// cancelTask sends the server a request to cancel the task.
func (c *Conn) cancelTask(ctx context.Context, id map[string]any) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbyeTimeout)
	go func() { // ends when the server answered, at the latest after goodbyeTimeout
		defer cancel()
		_, _ = c.Request(ctx, string(mcp.MethodTasksCancel), id)
	}()
}
