package oauth

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/tenonhq/tenon/internal/httpx"
	"github.com/tenonhq/tenon/internal/visible"
)

// ErrDenied is wrapped by the error for a user or server that refused the sign-in.
var ErrDenied = errors.New("sign-in was refused")

// page is the page for the browser. It contains nothing from the request.
const page = `<!doctype html><meta charset="utf-8"><title>tenon</title>
<p>tenon has received the answer. You can close this window. If tenon still waits, open the address that it shows now.</p>`

// Redirect receives the answer of an authorization server, see RFC 8252, section 7.3.
type Redirect struct {
	// URL is the address for the authorization server.
	URL      string
	path     string
	requests chan url.Values
	server   *http.Server
	serving  sync.WaitGroup
}

// Listen starts to listen at a loopback address, such as http://127.0.0.1:0/callback; port 0 means any free port. The caller closes the
// result.
func Listen(ctx context.Context, address string) (*Redirect, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" || !httpx.Loopback(u.Hostname()) || u.Port() == "" {
		return nil, fmt.Errorf("redirect address %q: want http://127.0.0.1:PORT/PATH", address)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", u.Host)
	if err != nil {
		return nil, fmt.Errorf("listen for the answer of the browser: %w", err)
	}
	if u.Port() == "0" {
		_, port, _ := net.SplitHostPort(l.Addr().String())
		u.Host = net.JoinHostPort(u.Hostname(), port)
	}
	r := &Redirect{URL: u.String(), path: u.Path, requests: make(chan url.Values)}
	r.server = &http.Server{Handler: http.HandlerFunc(r.serve), ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 64 << 10}
	r.serving.Go(func() { _ = r.server.Serve(l) }) // ends with Close, which waits
	return r, nil
}

func (r *Redirect) serve(w http.ResponseWriter, req *http.Request) {
	if req.URL.Path != r.path || req.Method != http.MethodGet {
		http.NotFound(w, req)
		return
	}
	select {
	case r.requests <- req.URL.Query():
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		_, _ = w.Write([]byte(page))
	case <-req.Context().Done():
	case <-time.After(time.Second):
		http.Error(w, "no sign-in is waiting", http.StatusGone)
	}
}

// Close stops listening and waits for running answers.
func (r *Redirect) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	err := r.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, r.server.Close())
	}
	r.serving.Wait()
	return err
}

// Visit asks the user to open an address in a browser. It returns the address that the browser was redirected to if the user enters it,
// and otherwise waits until ctx ends.
type Visit func(ctx context.Context, address string) (redirect string, err error)

// maxAddress is the maximum size of an authorization address in bytes. It is shown to the user, and a part of it comes from the server.
const maxAddress = 16 << 10

// Answer asks the user to open the authorization address and returns the parameters of the answer: from the browser, or entered by the
// user. If r is nil, only the user can enter the answer. Answers to other sign-ins are ignored. Errors: ErrDenied, errors of visit.
func (r *Redirect) Answer(ctx context.Context, authorization string, visit Visit) (url.Values, error) {
	u, err := url.Parse(authorization)
	if err == nil && len(authorization) > maxAddress {
		err = fmt.Errorf("it has %d bytes, want at most %d", len(authorization), maxAddress)
	}
	if err != nil {
		return nil, fmt.Errorf("authorization address: %w", err)
	}
	state := u.Query().Get("state")
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var text string
	entered := make(chan struct{})
	go func() { // ends with visit, which ends with ctx
		defer close(entered)
		text, err = visit(ctx, authorization)
	}()
	var requests chan url.Values
	if r != nil {
		requests = r.requests
	}
	for {
		select {
		case values := <-requests:
			if values.Get("state") != state {
				continue
			}
			cancel()
			<-entered
			return checked(values)
		case <-entered:
			if err != nil {
				return nil, err
			}
			values, err := parseRedirect(text)
			if err == nil && values.Get("state") != state {
				err = errors.New("the address belongs to another sign-in (its state differs)")
			}
			if err != nil {
				return nil, err
			}
			return checked(values)
		}
	}
}

// parseRedirect returns the parameters of an entered address.
func parseRedirect(text string) (url.Values, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.RawQuery == "" {
		return nil, errors.New("want the whole address that the browser was sent to, with code= and state=")
	}
	return u.Query(), nil
}

// checked returns the error in an answer, see RFC 6749, section 4.1.2.1.
func checked(values url.Values) (url.Values, error) {
	if code := values.Get("error"); code != "" {
		return nil, fmt.Errorf("%w: %s", ErrDenied, describe(code, values.Get("error_description")))
	}
	if values.Get("code") == "" {
		return nil, errors.New("the answer of the authorization server has no code")
	}
	return values, nil
}

// describe returns an error code of a server with its description, safe to show.
func describe(code, description string) string {
	const limit = 300 // bytes; a description is a sentence
	text := visible.Strip(code)
	if description != "" {
		text += ": " + visible.Strip(description)
	}
	return visible.Cut(text, limit, "…")
}
