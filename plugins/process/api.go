package process

import (
	"cmp"
	"context"
	"encoding/json"

	"google.golang.org/grpc"

	"github.com/tenonhq/tenon/sdk/guest"
	"github.com/tenonhq/tenon/sdk/process/tenonv1"
)

// api calls a process over one of the wires. Its methods and their parameters are those of the line protocol, see docs/process-protocol.md.
type api interface {
	// call calls a method and returns its result. notify receives the notifications before it; it may be nil. Errors: *failure, the error of
	// notify, errors for instance.explain.
	call(ctx context.Context, method string, params any, notify func(*note) error) (json.RawMessage, error)
	// hooks opens the wire for hooks. Its goroutines end with ctx; in.inside waits for them.
	hooks(ctx context.Context, in *instance) (hookWire, error)
	// host opens the stream of requests to the host.
	host(ctx context.Context) (grpc.BidiStreamingClient[tenonv1.HostResponse, tenonv1.HostRequest], error)
}

// Parameters of the methods.
type (
	describeParams struct{}
	stopParams     struct{}
	startParams    struct {
		Request json.RawMessage `json:"request"`
		Grants  json.RawMessage `json:"grants"`
		Host    string          `json:"host"`
	}
	toolParams struct {
		Tool    uint32          `json:"tool"`
		Call    json.RawMessage `json:"call"`
		Token   string          `json:"token"`
		Timeout uint32          `json:"timeout_ms"`
	}
	prepareParams toolParams
	streamParams  struct {
		Connection connection      `json:"connection"`
		Request    json.RawMessage `json:"request"`
		Token      string          `json:"token"`
	}
	modelsParams struct {
		Connection connection `json:"connection"`
	}
	authParams struct {
		Request json.RawMessage `json:"request"`
		Token   string          `json:"token"`
		Timeout uint32          `json:"timeout_ms"`
	}
)

// connection is a guest.Connection that always has a key.
type connection struct {
	Protocol string          `json:"protocol"`
	Provider json.RawMessage `json:"provider"`
	Key      string          `json:"key"`
}

// note is a notification of a call: progress of a tool, or an event of a model's answer.
type note struct {
	Title    string          `json:"title"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
	Event    json.RawMessage `json:"event,omitempty"`
}

// failure is the error of a call that the plugin reported.
type failure struct {
	message       string
	refused, halt bool
	model         *guest.ProviderError // of a model request
}

// Error returns the plugin's message.
func (f *failure) Error() string { return cmp.Or(f.message, "the plugin failed without a message") }
