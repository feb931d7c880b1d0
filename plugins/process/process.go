package process

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
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
	*program
	api        api
	disconnect func()       // ends the connection and its goroutines
	abandoned  atomic.Int32 // calls of hooks without an answer
	stop       time.Duration

	inside *ongoing.Operations // the streams
}

// begin starts a process, connects to it, and calls ready for the rest of the start.
func begin(ctx context.Context, o Options, u *remote.Unit, project sdk.Project, log *slog.Logger, ready func(context.Context, *instance) error) (*instance, error) {
	late := fmt.Errorf("it was not ready within %s", o.StartTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, o.StartTimeout, late)
	defer cancel()
	secured, cert, err := clientTLS()
	if err != nil {
		return nil, startFailed(u.Description.Name, err)
	}
	p, greetings, err := run(o, u, project, log, cert)
	if err != nil {
		return nil, startFailed(u.Description.Name, err)
	}
	in := &instance{program: p, disconnect: func() {}, stop: o.StopTimeout, inside: ongoing.New(ctx)}
	// Ending a hanging process unblocks everything that waits for it.
	release := context.AfterFunc(ctx, func() { in.late(context.Cause(ctx)) })
	defer release()
	err = in.connect(greetings, secured)
	if err == nil {
		err = ready(ctx, in)
	}
	if err == nil && release() {
		return in, nil
	}
	switch {
	case ctx.Err() != nil:
		in.late(context.Cause(ctx))
	case errors.Is(err, context.DeadlineExceeded): // the plugin noticed the deadline first
		in.fail(late)
	default:
		in.fail(err)
	}
	<-in.ended
	in.discard()
	return nil, startFailed(in.name, in.how)
}

func startFailed(name string, err error) error {
	return fmt.Errorf("%w: plugin %q: %w", ErrStart, name, err)
}

// connect waits for the handshake and connects to the process.
func (in *instance) connect(greetings <-chan greeting, secured *tls.Config) error {
	var first greeting
	select {
	case first = <-greetings:
	case <-in.ended:
		return in.how
	}
	h, err := parseHandshake(first.line, in.socketDir)
	if err != nil {
		return err
	}
	if h.lines {
		client := &lineClient{conn: jsonline.New(in.connection(first))}
		client.serving.Go(func() { in.broke(client.conn.Serve(client.fromProcess)) }) // ends with close, or the process
		in.api, in.disconnect = client, client.close
		return nil
	}
	if in.socket != nil {
		_ = in.socket.Close()
	}
	return in.dial(h, secured)
}

// dial connects to the gRPC server of the process.
func (in *instance) dial(h *handshake, secured *tls.Config) error {
	cert, err := x509.ParseCertificate(h.cert)
	if err != nil {
		return fmt.Errorf("handshake: server certificate: %w", err)
	}
	secured.RootCAs = x509.NewCertPool()
	secured.RootCAs.AddCert(cert)
	client := plugin.NewClient(&plugin.ClientConfig{
		Reattach: &plugin.ReattachConfig{
			Protocol: plugin.ProtocolGRPC, Addr: h.address,
			ReattachFunc: func() (runner.AttachedRunner, error) { return attached{program: in.program}, nil },
		},
		TLSConfig:  secured,
		Logger:     hclog.NewNullLogger(), // errors contain everything that users need
		SyncStdout: in.out,
		SyncStderr: in.err,
		GRPCDialOptions: []grpc.DialOption{
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(process.MaxMessage), grpc.MaxCallSendMsgSize(process.MaxMessage)),
			grpc.WithDisableRetry(), // no call is made twice
			grpc.WithIdleTimeout(0),
		},
	})
	in.disconnect = client.Kill // closes the connection and waits for go-plugin's goroutines
	protocol, err := client.Client()
	if err != nil {
		return err
	}
	in.api = &grpcAPI{client: tenonv1.NewPluginClient(protocol.(*plugin.GRPCClient).Conn)}
	return nil
}

// attached is the view that go-plugin has of a process.
type attached struct {
	runner.AttachedRunner // nil: only go-plugin's broker, which is not used, needs its other methods
	*program
}

// Wait waits for the end of the process.
func (a attached) Wait(context.Context) error {
	<-a.ended
	return nil
}

// Kill ends the process and its group.
func (a attached) Kill(context.Context) error {
	a.unlessEnded(child.Kill)
	return nil
}

// ID returns the process id.
func (a attached) ID() string { return strconv.Itoa(a.cmd.Process.Pid) }

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
		return in.api.hooks(life, in)
	}
	return nil
}

// close ends the process: it sends a stop request, then a signal, then kills it. If an abandoned hook is still unanswered after a quarter of
// the time, the process most likely does not read, and close stops waiting.
func (in *instance) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, in.stop)
	defer cancel()
	early := time.AfterFunc(in.stop/4, func() {
		if in.abandoned.Load() > 0 {
			cancel()
		}
	})
	defer early.Stop()
	_, err := in.api.call(ctx, &request{Request: guest.Request{Method: "stop"}}, nil)
	switch {
	case err == nil, status.Code(err) == codes.Unimplemented, in.isOver():
	case ctx.Err() != nil:
		in.log.Warn("plugin did not answer stop in time")
	default:
		in.log.Warn("plugin shutdown failed", "err", in.explain(err))
	}
	in.hangUp()
	select {
	case <-in.ended:
	case <-time.After(in.stop / 4):
		in.fail(errors.New("it ignored the request to stop"))
		<-in.ended
	}
	in.discard()
}

// discard cleans up after a process that ended.
func (in *instance) discard() {
	in.inside.Close()
	in.disconnect()
	_ = in.inside.Wait(context.WithoutCancel(in.inside.Life())) // without a limit
	in.cleanUp()
}

// explain returns a human-readable error for a failed call: the plugin's message, or the end of its process. It returns other errors
// unchanged.
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
	case codes.Unavailable: // the connection broke: the process has probably ended, which is known in a moment
		select {
		case <-in.ended:
			return in.endError()
		case <-time.After(endTime):
			return fmt.Errorf("%w: plugin %q: the connection broke: %s", ErrEnded, in.name, s.Message())
		}
	case codes.Canceled:
		if in.isOver() { // the end of the process also cancels its calls
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
