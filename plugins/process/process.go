package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/internal/jsonline"
	"github.com/tenonhq/tenon/internal/ongoing"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
	"github.com/tenonhq/tenon/sdk/process"
	"github.com/tenonhq/tenon/sdk/process/tenonv1"
)

// instance is one process of a plugin, from its start to its end. Safe for concurrent use.
type instance struct {
	name   string
	runner *childRunner
	client *plugin.Client
	api    api
	calls  callTable
	hooks  *hookCalls // nil when the plugin has no hooks
	stop   time.Duration
	log    *slog.Logger

	inside *ongoing.Operations // the streams
}

// begin starts a process, connects to it, and calls ready for the rest of the start.
func begin(ctx context.Context, o Options, u *remote.Unit, project sdk.Project, log *slog.Logger, ready func(context.Context, *instance) error) (*instance, error) {
	env, err := environ(o, u)
	if err != nil {
		return nil, startFailed(u.Description.Name, err)
	}
	late := fmt.Errorf("it was not ready within %s", o.StartTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, o.StartTimeout, late)
	defer cancel()
	in := &instance{name: u.Description.Name, runner: newRunner(o, u, project, env, log), stop: o.StopTimeout, log: log, inside: ongoing.New(ctx)}
	// A process that hangs blocks go-plugin too; ending it sets both free.
	release := context.AfterFunc(ctx, func() { in.runner.fail(in.runner.late(context.Cause(ctx))) })
	defer release()
	err = in.connect(o)
	if err == nil {
		err = ready(ctx, in)
	}
	if err == nil && release() {
		return in, nil
	}
	reason := context.Cause(ctx)
	switch {
	case reason != nil:
	case errors.Is(err, context.DeadlineExceeded): // the plugin's clock was first
		reason = late
	default:
		reason = err
	}
	in.runner.abandon(reason)
	<-in.runner.ended
	in.discard()
	return nil, startFailed(in.name, in.runner.how)
}

func startFailed(name string, err error) error {
	return fmt.Errorf("%w: plugin %q: %w", ErrStart, name, err)
}

// environ returns the environment of the process, and makes the directory of its data.
func environ(o Options, u *remote.Unit) ([]string, error) {
	env := map[string]string{}
	maps.Copy(env, u.Env)
	env["PLUGIN_ROOT"] = u.Root
	delete(env, "PLUGIN_DATA")
	if u.DataDir != "" {
		if err := os.MkdirAll(u.DataDir, 0o700); err != nil {
			return nil, fmt.Errorf("directory for its data: %w", err)
		}
		env["PLUGIN_DATA"] = u.DataDir
	}
	return child.Environ(o.Environ(), env), nil
}

// connect starts the process through go-plugin.
func (in *instance) connect(o Options) error {
	secured, cert, err := clientTLS()
	if err != nil {
		return err
	}
	in.client = plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig:  plugin.HandshakeConfig{ProtocolVersion: process.ProtocolVersion, MagicCookieKey: process.CookieKey, MagicCookieValue: process.CookieValue},
		Plugins:          plugin.PluginSet{process.ServiceName: dispenser{}},
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		TLSConfig:        secured,
		SkipHostEnv:      true,
		StartTimeout:     2 * o.StartTimeout,    // begin's own comes first
		Logger:           hclog.NewNullLogger(), // errors say everything that users need
		SyncStdout:       in.runner.out,
		SyncStderr:       in.runner.err,
		UnixSocketConfig: &plugin.UnixSocketConfig{TempDir: socketRoot()},
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, socketDir string) (runner.Runner, error) {
			in.runner.adopt(append(cmd.Env, certEnv+"="+cert), socketDir)
			return in.runner, nil
		},
		GRPCDialOptions: []grpc.DialOption{
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(process.MaxMessage), grpc.MaxCallSendMsgSize(process.MaxMessage)),
			grpc.WithDisableRetry(), // no call is made twice
			grpc.WithIdleTimeout(0),
		},
	})
	protocol, err := in.client.Client()
	if in.runner.lines != nil {
		in.api = in.runner.lines
		return nil
	}
	if err != nil {
		return err
	}
	client, err := protocol.Dispense(process.ServiceName)
	if err != nil {
		return err
	}
	in.api = grpcAPI{client.(tenonv1.PluginClient)}
	return nil
}

// dispenser creates the client of a plugin for go-plugin.
type dispenser struct{ plugin.NetRPCUnsupportedPlugin }

// GRPCServer is not used: the host serves no plugin.
func (dispenser) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error { return errors.ErrUnsupported }

// GRPCClient returns the tenonv1.PluginClient.
func (dispenser) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return tenonv1.NewPluginClient(conn), nil
}

// maxSocketRoot leaves room for the names that go-plugin appends: on some systems the path of a socket has at most 104 characters.
const maxSocketRoot = 60

// socketRoot returns the directory in which go-plugin creates the directories of sockets.
func socketRoot() string {
	if dir := os.TempDir(); len(dir) <= maxSocketRoot {
		return dir
	}
	return "/tmp"
}

// start sends the start request.
func (in *instance) start(ctx context.Context, u *remote.Unit, h sdk.Host, startRequest []byte, version string) error {
	grants, err := json.Marshal(u.Grants)
	if err != nil {
		return err
	}
	life := in.inside.Life()
	if err := serveHost(life, in, h, u); err != nil {
		return err
	}
	start := &request{Request: guest.Request{Method: "start", Body: startRequest}, grants: grants, host: version}
	if _, err = in.api.call(ctx, start, nil); err != nil {
		return in.explain(err)
	}
	in.removeSocket()
	if len(u.Description.Hooks) > 0 {
		in.hooks, err = openHooks(life, in)
	}
	return err
}

// close ends the process: it sends a stop request, then a signal, then kills it. If an abandoned hook is still unanswered after a quarter of
// the time, the process most likely does not read, and close stops waiting.
func (in *instance) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, in.stop)
	defer cancel()
	if in.hooks != nil {
		early := time.AfterFunc(in.stop/4, func() {
			if in.hooks.overdue() {
				cancel()
			}
		})
		defer early.Stop()
	}
	_, err := in.api.call(ctx, &request{Request: guest.Request{Method: "stop"}}, nil)
	switch {
	case err == nil, status.Code(err) == codes.Unimplemented, in.isOver():
	case ctx.Err() != nil:
		in.log.Warn("plugin did not answer stop in time")
	default:
		in.log.Warn("plugin shutdown failed", "err", in.explain(err))
	}
	in.runner.hangUp()
	select {
	case <-in.runner.ended:
	case <-time.After(in.stop / 4):
		in.runner.fail(errors.New("it ignored the request to stop"))
		<-in.runner.ended
	}
	in.discard()
}

// discard cleans up after a process that ended.
func (in *instance) discard() {
	in.inside.Close()
	in.client.Kill() // closes the connection and waits for go-plugin's goroutines
	if in.runner.lines != nil {
		in.runner.lines.close()
	}
	_ = in.inside.Wait(context.WithoutCancel(in.inside.Life())) // without a limit
	in.removeSocket()
}

// removeSocket removes the directory of the socket, which is not needed once the plugin has answered: the connection stays open, and a killed
// host leaves nothing behind. go-plugin does not remove the directory if the process did not start.
func (in *instance) removeSocket() {
	if dir := in.runner.socketDir; dir != "" {
		_ = os.RemoveAll(dir) // at worst an empty directory or a dead socket remains
	}
}

// explain returns a human-readable error for a failed call: the plugin's message, or how its process ended. It returns other errors unchanged.
func (in *instance) explain(err error) error {
	s, ok := status.FromError(err)
	if errors.Is(err, jsonline.ErrClosed) {
		s, ok = status.New(codes.Unavailable, err.Error()), true
	}
	if !ok {
		return err
	}
	switch s.Code() {
	case codes.OK:
		return nil
	case codes.Unavailable: // the connection broke: the end of the process is known in a moment
		select {
		case <-in.runner.ended:
			return in.endError()
		case <-time.After(endTime):
			return fmt.Errorf("%w: plugin %q: the connection broke: %s", ErrEnded, in.name, s.Message())
		}
	case codes.Canceled:
		if in.isOver() { // the end of a process cancels its calls, too
			return in.endError()
		}
		return fmt.Errorf("%w: %s", context.Canceled, s.Message())
	case codes.DeadlineExceeded:
		return fmt.Errorf("%w: %s", context.DeadlineExceeded, s.Message())
	case codes.Unimplemented:
		return fmt.Errorf("%w: the plugin does not serve it: %s", errors.ErrUnsupported, s.Message())
	case codes.ResourceExhausted:
		return fmt.Errorf("a message is larger than the %d MiB that are passed on: %s", process.MaxMessage>>20, s.Message())
	}
	return errors.New(s.Message())
}

// isOver reports whether the process ended.
func (in *instance) isOver() bool {
	select {
	case <-in.runner.ended:
		return true
	default:
		return false
	}
}

// endError says how the process ended. Call it after runner.ended.
func (in *instance) endError() error {
	return fmt.Errorf("%w: plugin %q: %w", ErrEnded, in.name, in.runner.how)
}
