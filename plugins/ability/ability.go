// Package ability gives plugins outside of the host's process access to the network, stored values, secrets, tools, sessions, the user and the
// model. Carriers pass every request of a plugin to a Broker, which checks the user's grants on each call, limits rates and sizes, and
// answers with a status and JSON.
//
// operations.go lists the operations; docs/abilities.md describes them for guest authors.
package ability

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/time/rate"

	"github.com/tenonhq/tenon/internal/ongoing"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

// Options configure a Broker.
type Options struct {
	Plugin string // its name
	// Grants are the user's grants. They are copied.
	Grants []sdk.Capability
	// Secret returns a variable of the host's environment. Required for grants of the capability secret.
	Secret func(name string) (string, bool)
	// DataDir is the plugin's own directory, created with mode 0700 when it is first needed.
	DataDir string
	Logger  *slog.Logger // nil: nothing is logged
	Limits  Limits       // the zero value means DefaultLimits
}

// Caller describes the call during which a plugin makes a request.
type Caller struct {
	SessionID string
	Tool      sdk.ToolHost // nil outside of a tool call
	User      sdk.AuthUser // nil outside of a sign-in
	// Call is the context of the call, which also ends the streams opened during it. Nil outside of a call.
	Call context.Context
}

// Broker answers the requests of one plugin. Safe for concurrent use.
type Broker struct {
	opts   Options // without zero fields
	grants grants
	rates  rates
	kv     *store
	web    *web

	streams streams

	operations map[string]operation // by name; never changes

	running *ongoing.Operations // they end in Close, and so do all streams

	mu   sync.Mutex
	host sdk.Host // nil until Bind
}

// New returns a broker. Invalid entries of the grants, such as a malformed address, are logged and grant nothing; see CheckAddress.
func New(o Options) *Broker {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Limits = cmp.Or(o.Limits, DefaultLimits())
	b := &Broker{
		opts: o, grants: newGrants(o.Grants, o.Logger),
		rates: rates{rate.NewLimiter(rate.Limit(o.Limits.Rate), o.Limits.Burst), rate.NewLimiter(rate.Limit(o.Limits.HTTPRate), o.Limits.HTTPBurst)},
		kv:    &store{dir: o.DataDir, limits: o.Limits}, web: newWeb(o.Limits), running: ongoing.New(guest.Detached()),
	}
	b.operations = b.table()
	return b
}

// Bind sets the host that performs the operations. Carriers call it in Start.
func (b *Broker) Bind(h sdk.Host) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.host = h
}

// Close cancels running operations and waits for them, at most until ctx ends. Later requests fail. It may be called twice.
func (b *Broker) Close(ctx context.Context) error {
	b.running.Close()
	if err := b.running.Wait(ctx); err != nil {
		return fmt.Errorf("operations of plugin %q still run: %w", b.opts.Plugin, err)
	}
	return nil
}

// Do runs an operation on behalf of c. It returns soon after ctx ends. The request may be reused after Do returns; the answer belongs to the
// caller. It is JSON if the status is OK, otherwise a human-readable text.
func (b *Broker) Do(ctx context.Context, c Caller, op string, request []byte) (guest.Status, []byte) {
	answer, err := b.do(ctx, c, op, request)
	if err != nil {
		status := guest.StatusFailed
		if p, ok := errors.AsType[*problem](err); ok {
			status = p.status
		}
		b.opts.Logger.Debug("ability refused", "op", op, "status", status.String(), "err", err)
		return status, []byte(err.Error())
	}
	return guest.StatusOK, answer
}

func (b *Broker) do(ctx context.Context, c Caller, op string, request []byte) (answer []byte, err error) {
	if !b.rates.all.Allow() {
		return nil, limited("more than %d operations a second", b.opts.Limits.Rate)
	}
	o, ok := b.operations[op]
	if !ok {
		return nil, &problem{guest.StatusUnknown, fmt.Sprintf("unknown operation %.64q", op)}
	}
	if len(request) > b.opts.Limits.RequestBytes {
		return nil, limited("%s: the request has %d bytes, at most %d are accepted", op, len(request), b.opts.Limits.RequestBytes)
	}
	switch {
	case o.capability != "" && !b.grants.has(o.capability):
		return nil, fmt.Errorf("%s: %w", op, b.denied(o.capability, ""))
	case o.capability == sdk.CapabilityAuth && c.User == nil:
		return nil, fmt.Errorf("%s: only a sign-in can show this to the user", op)
	}
	if !utf8.Valid(request) {
		return nil, fmt.Errorf("%s: the request is not valid UTF-8; send other bytes as {\"base64\": …}", op)
	}
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s: %w", op, ctx.Err())
	case !b.running.Begin():
		return nil, fmt.Errorf("%s: the plugin was closed", op)
	}
	defer b.running.End()
	ctx, cancel := b.running.Bound(ctx)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			b.opts.Logger.Error("ability panicked", "op", op, "err", p)
			answer, err = nil, fmt.Errorf("%s: internal error in the host; see its log", op)
		}
	}()
	value, err := o.run(ctx, c, request)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	if answer, err = json.Marshal(value); err != nil {
		return nil, fmt.Errorf("%s: encode the answer: %w", op, err)
	}
	if len(answer) > b.opts.Limits.ResponseBytes {
		return nil, limited("%s: the answer has %d bytes, at most %d are passed on", op, len(answer), b.opts.Limits.ResponseBytes)
	}
	return answer, nil
}

// Limits are the limits of the requests of one plugin.
type Limits struct {
	RequestBytes  int // of one request as JSON
	ResponseBytes int // of one answer as JSON

	Rate, Burst         int // operations a second
	HTTPRate, HTTPBurst int // HTTP requests a second, which also count towards Rate

	HTTPConcurrent int           // HTTP requests at the same time, others wait
	HTTPBytes      int           // of one answer's body, unpacked
	HTTPTimeout    time.Duration // of one HTTP request, the redirects included

	KVBytes      int // of all keys and values together
	KVKeys       int
	KVKeyBytes   int // of one key
	KVValueBytes int // of one value
}

// DefaultLimits returns the limits of brokers for which Options sets none.
func DefaultLimits() Limits {
	return Limits{
		RequestBytes: 1 << 20, ResponseBytes: 8 << 20, Rate: 1000, Burst: 2000,
		HTTPRate: 20, HTTPBurst: 20, HTTPConcurrent: 8, HTTPBytes: 4 << 20, HTTPTimeout: 30 * time.Second,
		KVBytes: 1 << 20, KVKeys: 1000, KVKeyBytes: 256, KVValueBytes: 256 << 10,
	}
}

// rates are the token buckets of a plugin.
type rates struct{ all, http *rate.Limiter }

// problem is an error with a status other than StatusFailed.
type problem struct {
	status guest.Status
	text   string
}

// Error returns the text.
func (p *problem) Error() string { return p.text }

// limited returns the error for an exceeded quota, rate or size.
func limited(format string, args ...any) error {
	return &problem{guest.StatusLimited, fmt.Sprintf(format, args...)}
}

// denied returns the error for a missing grant; scope is the missing entry of its scope.
func (b *Broker) denied(capability, scope string) error {
	what := fmt.Sprintf("the capability %q", capability)
	if scope != "" {
		what += fmt.Sprintf(" with %q in its scope", scope)
	}
	return &problem{guest.StatusDenied, fmt.Sprintf("plugin %q was not granted %s; list it in the plugin's capabilities and let the user approve it (tenon plugin trust)", b.opts.Plugin, what)}
}

// missing returns the error for an ability that this host lacks.
func missing(what string) error {
	return fmt.Errorf("this host does not give plugins %s", what)
}
