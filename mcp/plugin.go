package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/tenonhq/tenon/internal/confine"
	"github.com/tenonhq/tenon/sdk"
)

// freshFor is how long after it was last checked a server is taken for what it was then, and started only when it is needed.
const freshFor = 24 * time.Hour

// Options are what all servers have in common. The zero value works.
type Options struct {
	// Pins keeps what was approved. Default: FilePins(Dir).
	Pins Pins
	// Dir is where logs and pins are kept. Default: the folder mcp in the project's data directory.
	Dir string
	// Environ is the environment of the host, in the form of os.Environ, of which servers get what every program needs. Default:
	// os.Environ().
	Environ []string
	// Confine returns what a server that is started reaches, at each start. Nil: it runs with all the rights of the user.
	Confine func() (confine.Policy, error)
	// Version is what servers are told of us.
	Version string
	// Eager starts every server at once, in the background. Otherwise one that was checked within a day, and has no hooks, is started
	// when it is first needed.
	Eager bool
	// Wait is how long Start waits for a server of which nothing is known yet. Default: not at all; its tools come with a later step.
	Wait time.Duration
}

func (o *Options) version() string {
	if o.Version == "" {
		return "dev"
	}
	return o.Version
}

// withDefaults fills in what was left out.
func (o Options) withDefaults(project sdk.Project) Options {
	if o.Dir == "" {
		o.Dir = filepath.Join(project.DataDir, "mcp")
	}
	if o.Pins == nil {
		o.Pins = FilePins(o.Dir)
	}
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	return o
}

// Plugin is one server as a plugin. Safe for use from many goroutines.
type Plugin struct {
	server  Server
	options Options
	host    sdk.Host
	logger  *slog.Logger
	log     *serverLog
	link    *link
	hooks   []sdk.Hook
	stop    context.CancelFunc
	news    chan struct{} // the server's lists changed
	running sync.WaitGroup

	mu    sync.Mutex
	pin   *Pin // nil: nothing was approved
	offer *offer
}

var (
	_ sdk.Plugin          = (*Plugin)(nil)
	_ sdk.Hooker          = (*Plugin)(nil)
	_ sdk.ToolSource      = (*Plugin)(nil)
	_ sdk.CommandSource   = (*Plugin)(nil)
	_ sdk.CommandRenderer = (*Plugin)(nil)
	_ sdk.ReferenceSource = (*Plugin)(nil)
)

// New makes a plugin of a server. Nothing runs before Start. The caller has asked the user whether the server may run.
func New(s Server, o Options) *Plugin {
	return &Plugin{server: s, options: o, news: make(chan struct{}, 1), offer: &offer{}}
}

// Manifest names the plugin after its server.
func (p *Plugin) Manifest() sdk.Manifest {
	return sdk.Manifest{
		Name: p.server.PluginName(), Carrier: sdk.CarrierMCP, Server: p.server.Name,
		Description: fmt.Sprintf("MCP server %s (%s)", clean(p.server.Name), p.server.Transport),
	}
}

// Start loads what was approved of the server and starts it in the background. It waits for nothing but what Options.Wait says. An
// error means that the configuration is wrong; a server that cannot be started is none.
func (p *Plugin) Start(ctx context.Context, h sdk.Host) error {
	if err := p.server.Validate(); err != nil {
		return err
	}
	p.host, p.logger = h, h.Logger()
	p.options = p.options.withDefaults(h.Project())
	p.log = newServerLog(LogPath(p.options.Dir, p.server), p.server)
	pin, err := p.options.Pins.Load(p.server)
	if err != nil {
		return err
	}
	p.pin = pin
	p.settle(nil)
	d := p.dialer()
	p.link = newLink(d.dial, p.connected)
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	p.stop = stop
	p.running.Go(func() { p.link.run(life, p.eager()) }) // both end when Close cancels life
	p.running.Go(func() { p.follow(life) })
	if pin == nil && p.options.Wait > 0 {
		wait, cancel := context.WithTimeout(ctx, p.options.Wait)
		defer cancel()
		p.link.settled(wait)
	}
	p.hooks = p.makeHooks()
	return nil
}

func (p *Plugin) dialer() *dialer {
	return &dialer{
		server: p.server, options: &p.options, project: p.host.Project(), log: p.log, logger: p.logger,
		changed: func() {
			select {
			case p.news <- struct{}{}:
			default:
			}
		},
		answers: func() *responder { return &responder{server: p.server.Name, host: p.host, timeout: p.server.timeout()} },
	}
}

// eager reports whether the server is to be started before anybody needs it: a hook must not wait for a start, and what is not known,
// or was not checked for long, has to be asked for.
func (p *Plugin) eager() bool {
	return p.options.Eager || p.pin == nil || time.Since(p.pin.Checked) > freshFor || p.calledByHooks()
}

func (p *Plugin) calledByHooks() bool {
	return len(p.server.Hooks) > 0 || p.pin != nil && len(p.pin.Definition.Interceptors) > 0
}

// connected takes in what the server offers on a new connection.
func (p *Plugin) connected(_ context.Context, c *conn) { p.settle(c.definition()) }

// follow asks the server again when its lists changed.
func (p *Plugin) follow(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.news:
		}
		p.link.mu.Lock()
		c := p.link.conn
		p.link.mu.Unlock()
		if c == nil {
			continue
		}
		ask, cancel := context.WithTimeout(ctx, p.server.timeout())
		def, err := c.refresh(ask)
		cancel()
		if err != nil {
			p.logger.Warn("the lists of an MCP server changed and could not be read", "server", p.server.Name, "err", err)
			continue
		}
		p.settle(def)
	}
}

// Close ends the server and waits until everything it started is gone, at most until ctx ends.
func (p *Plugin) Close(ctx context.Context) error {
	if p.stop == nil {
		return nil
	}
	p.stop()
	done := make(chan struct{})
	go func() { // ends with the goroutines of the plugin, each of which bounds itself
		p.running.Wait()
		p.log.close()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("MCP server %q did not end in time: %w", p.server.Name, ctx.Err())
	}
}

// Hooks returns the server's interceptors, the tools that are configured as hooks, and what adds the server's instructions.
func (p *Plugin) Hooks() []sdk.Hook { return p.hooks }

// Tools returns what is known of the server's tools now.
func (p *Plugin) Tools() []sdk.Tool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.offer.tools
}

// Status is where a server stands.
type Status struct {
	Server string `json:"server"`
	State  State  `json:"state"`
	Reason string `json:"reason,omitempty"` // of StateFailed and StateRestarting
	Title  string `json:"title,omitempty"`  // what the server calls itself
	Tools  int    `json:"tools"`
	Starts int    `json:"starts"` // how often it was connected
	// Withheld is what the server offers and was not approved, or cannot be used.
	Withheld []Withheld `json:"withheld,omitempty"`
}

// Status returns where the server stands now.
func (p *Plugin) Status() Status {
	s := Status{Server: p.server.Name, State: StateIdle}
	if p.link != nil {
		p.link.mu.Lock()
		s.State, s.Starts = p.link.state, p.link.starts
		if p.link.reason != nil {
			s.Reason = clean(p.link.reason.Error())
		}
		p.link.mu.Unlock()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s.Title, s.Tools, s.Withheld = p.offer.title, len(p.offer.tools), p.offer.withheld
	return s
}

// Current returns what the server offers on its present connection, approved or not; nil when there is none.
func (p *Plugin) Current() *Definition {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.offer.current
}

// ask runs a request on the server's connection, which it waits for. A request that cannot have reached the server is made again, and
// so is, once, one that changes nothing and whose connection broke.
func (p *Plugin) ask(ctx context.Context, readOnly bool, f func(*conn) error) error {
	for again := true; ; again = false {
		c, err := p.connection(ctx)
		if err == nil {
			err = f(c)
		}
		if err == nil {
			p.link.worked()
			return nil
		}
		if c != nil && again && ctx.Err() == nil && (unsent(err) || readOnly && broken(err)) {
			continue
		}
		return p.explain(ctx, err)
	}
}

// connection waits for the server for as long as a request may take.
func (p *Plugin) connection(ctx context.Context) (*conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, p.server.timeout(), fmt.Errorf("waited %s for it", p.server.timeout()))
	defer cancel()
	return p.link.get(ctx)
}

// explain makes an error say which server it is about.
func (p *Plugin) explain(ctx context.Context, err error) error {
	var refusal *sdk.Refusal
	if errors.As(err, &refusal) {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("MCP server %q: %w", p.server.Name, ctx.Err())
	}
	return &serverError{p.server.Name, err}
}

// serverError is the failure of a request to a server.
type serverError struct {
	server string
	err    error
}

// Error names the server.
func (e *serverError) Error() string {
	return fmt.Sprintf("MCP server %q: %s", e.server, bound(e.err.Error(), 4<<10))
}

// Unwrap returns the cause.
func (e *serverError) Unwrap() error { return e.err }
