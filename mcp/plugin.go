package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenonhq/tenon/internal/confine"
	"github.com/tenonhq/tenon/internal/oauth"
	"github.com/tenonhq/tenon/internal/ongoing"
	"github.com/tenonhq/tenon/internal/pause"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/mcp/protocol"
	"github.com/tenonhq/tenon/sdk"
)

// freshFor is the time after its last check during which a server is assumed to be unchanged and started only when needed.
const freshFor = 24 * time.Hour

// Options are the common options of all servers. The zero value works.
type Options struct {
	// Dir is the directory of logs and pins. Default: the folder mcp in the project's data directory.
	Dir string
	// Environ is the host's environment, in the form of os.Environ; servers get the part that every program needs. Default:
	// os.Environ().
	Environ []string
	// Confine returns the files a server may access; it is called at each start. If nil, servers run with all rights of the user.
	Confine func() (confine.Policy, error)
	// Authorizer adds tokens to the requests to a remote server; nil without sign-in.
	Authorizer protocol.Authorizer
	// SigningIn means that the user signs in now. The refusal of a request without a token is then not recorded.
	SigningIn bool
	// MayApprove returns an error for a definition that the user must not be asked to approve. If nil, every
	// definition may be approved.
	MayApprove func(*Definition) error
	// Turns limits how many servers start at the same time before they are needed: its capacity is the number. Nil means unlimited.
	Turns chan struct{}
	// Version is tenon's version for the handshake.
	Version string
}

// Plugin is one server as a plugin. It is safe for concurrent use.
type Plugin struct {
	server  Server
	options Options
	host    sdk.Host // nil while the server is only probed
	project sdk.Project
	logger  *slog.Logger
	log     *protocol.Log
	link    *link
	hooks   []sdk.Hook
	news    chan struct{}       // signals changed lists of the server
	running *ongoing.Operations // nil before Start

	last     *Check      // the record before this start; nil if there was none
	reported sync.Once   // logs that the server does not work
	used     atomic.Bool // a turn asked for its tools

	errors atomic.Int32 // number of the errors that the server reported

	mu      sync.Mutex
	pin     *Pin              // nil if nothing is approved
	stamp   string            // FilePins.Stamp of the stored pin
	session string            // session of the last call
	read    map[string]bool   // by URI: subscribed resources that were read; true if they changed since
	asked   string            // the definition that the user was last asked about
	named   map[Withheld]bool // withheld items that were logged
	offer   *offer

	declined   int  // number of questions about a definition that the user declined
	unanswered bool // the turn ended before the user answered
}

var (
	_ sdk.Plugin           = (*Plugin)(nil)
	_ sdk.Hooker           = (*Plugin)(nil)
	_ sdk.ToolSource       = (*Plugin)(nil)
	_ sdk.CommandSource    = (*Plugin)(nil)
	_ sdk.CommandRenderer  = (*Plugin)(nil)
	_ sdk.CommandCompleter = (*Plugin)(nil)
	_ sdk.ReferenceSource  = (*Plugin)(nil)
)

// New returns the plugin of a server. Nothing runs before Start. The caller ensures that the user approved the server.
func New(s Server, o Options) *Plugin {
	if o.Turns == nil {
		o.Turns = make(chan struct{}, 1)
	}
	return &Plugin{
		server: s, options: o, logger: slog.New(slog.DiscardHandler), news: make(chan struct{}, 1), named: map[Withheld]bool{},
		read: map[string]bool{}, offer: &offer{},
	}
}

// prepare sets what a connection needs.
func (p *Plugin) prepare(project sdk.Project) {
	p.project = project
	p.options.Dir = cmp.Or(p.options.Dir, filepath.Join(project.DataDir, "mcp"))
	if p.options.Environ == nil {
		p.options.Environ = os.Environ()
	}
	p.log = protocol.NewLog(LogPath(p.options.Dir, p.server), p.server.secrets())
}

// Manifest names the plugin after its server.
func (p *Plugin) Manifest() sdk.Manifest {
	return sdk.Manifest{
		Name: p.server.PluginName(), Carrier: sdk.CarrierMCP, Server: p.server.Name,
		Description: fmt.Sprintf("MCP server %s (%s)", visible.Strip(p.server.Name), p.server.Transport),
	}
}

// Start loads the approval of the server and starts it in the background, without waiting for it: the tools of an unknown server appear
// in a later step. It returns an error for an invalid configuration, but not if the server cannot be started.
func (p *Plugin) Start(ctx context.Context, h sdk.Host) error {
	if err := p.server.Validate(); err != nil {
		return err
	}
	p.host, p.logger = h, h.Logger()
	p.prepare(h.Project())
	pin, err := p.pins().Load(p.server)
	if err != nil {
		return err
	}
	p.pin, p.stamp = pin, p.pins().Stamp(p.server)
	p.rebuild(nil)
	p.last = LastCheck(p.options.Dir, p.server)
	p.link = newLink(p)
	p.running = ongoing.New(ctx)
	p.running.Go(func() { p.link.run(p.running.Life(), p.startsIn()) }) // both end with Close
	p.running.Go(func() { p.follow(p.running.Life()) })
	p.hooks = p.makeHooks()
	return nil
}

func (p *Plugin) pins() FilePins { return FilePins(p.options.Dir) }

// listsChanged makes follow request the lists again.
func (p *Plugin) listsChanged() {
	select {
	case p.news <- struct{}{}:
	default:
	}
}

// startsIn returns after which time the server is started even if it is not needed; a negative time means that it is started only when
// it is needed. Hooks must not wait for a start, and unknown or outdated definitions must be requested. A server that has just failed
// is not started for a while, so that broken servers do not slow down the next runs.
func (p *Plugin) startsIn() time.Duration {
	switch {
	case p.last != nil && p.last.Error != "":
		return max(0, retryAfter-time.Since(p.last.At).Abs()) // the clock may have been ahead
	case p.pin == nil || time.Since(p.pin.Checked).Abs() > freshFor || len(p.server.Hooks)+len(p.pin.Definition.Interceptors) > 0:
		return 0
	}
	return -1
}

// report logs, once, that the server does not work. signIn means that it requires sign-in.
func (p *Plugin) report(err error, signIn bool) {
	p.reported.Do(func() {
		p.logger.Warn("an MCP server does not work", "server", p.server.Name, "err", visible.Bound(p.server.Mask(err.Error()), 1<<10), "fix", p.server.Remedy(signIn, p.options.Authorizer))
	})
}

// reportUnstarted reports a server that was not available during the run: its start took too long, or an earlier start failed. If the run
// offered the approved tools and called none of them, nothing is reported: nothing was missing.
func (p *Plugin) reportUnstarted() {
	now := p.link.now()
	_, pin := p.approved()
	switch {
	case now.starts > 0 || !p.used.Load():
	case p.last != nil && p.last.Error != "":
		p.report(fmt.Errorf("%s (%s)", p.last.Error, p.last.At.Local().Format(time.DateTime)), p.last.SignIn)
	case pin == nil:
		p.report(errors.New("it had not started when the run ended"), false)
	}
}

// Remedy returns the remedy for a server that does not work: signIn means that it requires sign-in, and a is nil if tenon cannot sign in to it.
func (s *Server) Remedy(signIn bool, a protocol.Authorizer) string {
	switch {
	case signIn && a == nil:
		return "put a token into its headers"
	case signIn:
		return "run tenon mcp login " + visible.Word(s.Name)
	case s.Transport == TransportStdio:
		return "check its command; tenon mcp logs " + visible.Word(s.Name) + " shows its output"
	}
	return "check its address; tenon mcp list --check tries again"
}

// needsSignIn reports whether a server refused to work without sign-in, and signing in would help. It would not if the server refused
// access without naming scopes, or if the authorization server did not answer.
func needsSignIn(err error) bool {
	refused, ok := errors.AsType[*protocol.AuthError](err)
	return ok && (refused.Status != http.StatusForbidden || refused.Err != nil) && !oauth.Passing(err)
}

// pauseAfter returns the time after n requests of changed lists: some servers announce a change with each item, or with each list.
func pauseAfter(n int) time.Duration {
	if n < 50 {
		return 200 * time.Millisecond
	}
	return 10 * time.Second
}

// follow requests the server's lists again when they have changed.
func (p *Plugin) follow(ctx context.Context) {
	for n := 0; pause.For(ctx, pauseAfter(n)) == nil; n++ {
		select {
		case <-ctx.Done():
			return
		case <-p.news:
		}
		now := p.link.now()
		if now.conn == nil { // the lists may have changed while they were first read
			p.listsChanged()
			select {
			case <-now.changed:
			case <-ctx.Done():
			}
			continue
		}
		ask, cancel := context.WithTimeout(ctx, p.server.Limit())
		def, err := now.conn.refresh(ask)
		cancel()
		switch {
		case ctx.Err() != nil: // the plugin is closed
			return
		case err != nil:
			p.logger.Warn("the changed lists of an MCP server could not be read", "server", p.server.Name, "err", err)
			continue
		}
		p.update(def)
		p.askApproval(ctx, def)
	}
}

// Close ends the server and waits for its processes, at most until ctx ends.
func (p *Plugin) Close(ctx context.Context) error {
	if p.running == nil {
		return nil
	}
	p.reportUnstarted()
	p.running.Close()
	if err := p.running.Wait(ctx); err != nil {
		return fmt.Errorf("MCP server %q: shutdown timed out: %w", p.server.Name, err)
	}
	p.log.Close()
	return nil
}

// Hooks returns the server's interceptors, the tools configured as hooks, and the hook that adds the server's instructions.
func (p *Plugin) Hooks() []sdk.Hook { return p.hooks }

// Tools returns the tools known now. When a turn requests them, the plugin asks again what the user could not answer in an earlier turn.
func (p *Plugin) Tools() []sdk.Tool {
	p.used.Store(true)
	p.update(nil)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unanswered {
		p.unanswered, p.asked = false, ""
		p.listsChanged()
	}
	return p.offer.tools
}

// approved returns the current offer, and the approval or nil.
func (p *Plugin) approved() (*offer, *Pin) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.offer, p.pin
}

// ask waits for the server's connection and runs a request. It repeats a request once if it cannot have reached the server, or if it
// is read-only and the connection broke.
func (p *Plugin) ask(ctx context.Context, readOnly bool, f func(*connection) (json.RawMessage, error)) (json.RawMessage, error) {
	for again := true; ; again = false {
		c, err := p.connection(ctx)
		var answer json.RawMessage
		if err == nil {
			answer, err = f(c)
		}
		if err == nil {
			p.link.used.Store(true)
			return answer, nil
		}
		if c != nil && again && ctx.Err() == nil && (protocol.Unsent(err) || readOnly && protocol.Broken(err)) {
			continue
		}
		return nil, p.explain(ctx, err)
	}
}

// connection waits for the server, at most for its timeout.
func (p *Plugin) connection(ctx context.Context) (*connection, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, p.server.Limit(), fmt.Errorf("waited %s for the server", p.server.Limit()))
	defer cancel()
	return p.link.get(ctx)
}

// explain adds the server's name to an error.
func (p *Plugin) explain(ctx context.Context, err error) error {
	if _, ok := errors.AsType[*sdk.Refusal](err); ok {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("MCP server %q: %w", p.server.Name, ctx.Err())
	}
	return &serverError{p.server.Name, err}
}

// serverError is the error of a request to a server.
type serverError struct {
	server string
	err    error
}

// Error returns the server's name and the cause.
func (e *serverError) Error() string {
	return fmt.Sprintf("MCP server %q: %s", e.server, visible.Bound(e.err.Error(), 4<<10))
}

// Unwrap returns the cause.
func (e *serverError) Unwrap() error { return e.err }
