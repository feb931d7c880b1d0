package oauth

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tenonhq/tenon/internal/httpx"
	"github.com/tenonhq/tenon/internal/pause"
)

// maxAnswer is the maximum size of an answer in bytes; tokens have up to some kilobytes.
const maxAnswer = 1 << 20

// requestTimeout limits one request to an authorization server.
const requestTimeout = 30 * time.Second

// Error codes of token endpoints, see RFC 6749, section 5.2, and RFC 8628, section 3.5.
const (
	CodeInvalidGrant  = "invalid_grant"  // the refresh token or code is no longer valid
	CodeInvalidClient = "invalid_client" // the client is not known, or its secret was sent in a form that the server does not accept
	CodePending       = "authorization_pending"
	CodeSlowDown      = "slow_down"
	CodeDenied        = "access_denied"
	CodeExpired       = "expired_token"
)

// Error is the refusal of an authorization server, or an answer without a JSON object.
type Error struct {
	Status      int // HTTP status
	Code        string
	Description string
	Interval    int // new interval in seconds, for CodeSlowDown; 0: not given
}

// Error returns the status, the code and the description.
func (e *Error) Error() string {
	if e.Code == "" {
		return fmt.Sprintf("the authorization server answered with HTTP status %d (%s), and with neither a token nor an error code", e.Status, http.StatusText(e.Status))
	}
	return "the authorization server refused: " + describe(e.Code, e.Description)
}

// Passing reports whether a request failed because of the network or the server, not because of the code or token in it. A network that asks
// its user to sign in answers with a page and status 200.
func Passing(err error) bool {
	if refused, ok := errors.AsType[*Error](err); ok {
		return refused.Code == "" && refused.Status/100 == 2 || refused.Status >= 500 || refused.Status == http.StatusTooManyRequests && refused.Code != CodeSlowDown
	}
	failed, ok := errors.AsType[net.Error](err) // every error of http.Client is one, such as a bad certificate
	return errors.Is(err, io.ErrUnexpectedEOF) || ok && (failed.Timeout() || errors.As(err, new(*net.OpError)) || errors.Is(err, io.EOF))
}

// silence is the error of a server that did not answer within this time. As a net.Error that is a timeout, it is passing.
type silence time.Duration

func (s silence) Error() string {
	return "the authorization server did not answer within " + time.Duration(s).String()
}
func (silence) Timeout() bool   { return true }
func (silence) Temporary() bool { return true }

// Token is the answer of a token endpoint.
type Token struct {
	Access, Refresh, ID string
	Expires             int64 // milliseconds since 1970; 0: not given
}

// Doer sends requests; it judges their addresses and redirects.
type Doer interface {
	Do(req *http.Request) (*http.Response, error)
}

// Endpoint is a token endpoint with the client that uses it.
type Endpoint struct {
	HTTP     Doer
	URL      string
	ClientID string
	Secret   string
	InHeader bool          // Secret is sent as Basic authentication, not in the body
	Timeout  time.Duration // of a request; default 30 seconds
}

// Request sends a form to the endpoint, with the client, and returns the token. Errors: *Error for a refusal.
func (e *Endpoint) Request(ctx context.Context, form url.Values) (*Token, error) {
	req := http.Request{Header: http.Header{}}
	if e.InHeader && e.Secret != "" { // see RFC 6749, section 2.3.1: both are encoded as in a form
		req.SetBasicAuth(url.QueryEscape(e.ClientID), url.QueryEscape(e.Secret))
	} else {
		form = maps.Clone(form)
		form.Set("client_id", e.ClientID)
		if e.Secret != "" {
			form.Set("client_secret", e.Secret)
		}
	}
	answer, err := post(ctx, e.HTTP, e.URL, req.Header, form, cmp.Or(e.Timeout, requestTimeout))
	if err != nil {
		return nil, err
	}
	return answer.token(time.Now())
}

// Answer is the decoded answer of an authorization server.
type Answer map[string]any

// Text returns a text, or "".
func (a Answer) Text(name string) string {
	s, _ := a[name].(string)
	return s
}

// Number returns a number that is not negative, which some servers send as a text, or 0.
func (a Answer) Number(name string) int64 {
	n, _ := strconv.ParseFloat(fmt.Sprint(a[name]), 64) // 0 for other values
	if n >= 0 && n < 1<<53 {
		return int64(n)
	}
	return 0
}

func (a Answer) token(now time.Time) (*Token, error) {
	t := &Token{Access: a.Text("access_token"), Refresh: a.Text("refresh_token"), ID: a.Text("id_token")}
	if t.Access == "" {
		return nil, fmt.Errorf("the answer of the authorization server has no access_token")
	}
	if kind := a.Text("token_type"); kind != "" && !strings.EqualFold(kind, "bearer") {
		return nil, fmt.Errorf("token type %.40q: want Bearer", kind)
	}
	const century = 100 * 365 * 24 * 3600
	if seconds := a.Number("expires_in"); seconds > 0 && seconds < century {
		t.Expires = now.UnixMilli() + seconds*1000
	}
	return t, nil
}

// Post sends a form (url.Values) or another value as JSON, and returns the decoded answer. Errors: *Error for a refusal, whatever its status.
func Post(ctx context.Context, client Doer, address string, body any) (Answer, error) {
	return post(ctx, client, address, http.Header{}, body, requestTimeout)
}

func post(ctx context.Context, client Doer, address string, header http.Header, body any, timeout time.Duration) (Answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, silence(timeout))
	defer cancel()
	form, isForm := body.(url.Values)
	sent, kind := []byte(form.Encode()), "application/x-www-form-urlencoded"
	if !isForm {
		var err error
		if sent, err = json.Marshal(body); err != nil {
			return nil, err
		}
		kind = "application/json"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(sent))
	if err != nil {
		return nil, err
	}
	req.Header = header
	req.Header.Set("Content-Type", kind)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "tenon")
	resp, err := client.Do(req)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok {
			failed.Op, failed.URL = "no answer from", req.URL.Host // instead of the method and the whole address
		}
		return nil, err
	}
	defer resp.Body.Close()
	content, err := httpx.ReadAll(resp.Body, maxAnswer)
	if err != nil {
		return nil, err
	}
	var answer Answer
	_ = json.Unmarshal(content, &answer) // stays nil unless it is an object
	code := answer.Text("error")
	if nested, ok := answer["error"].(map[string]any); ok { // OpenAI's form
		code = Answer(nested).Text("code")
	}
	if code != "" || resp.StatusCode/100 != 2 || answer == nil {
		return nil, &Error{Status: resp.StatusCode, Code: code, Description: answer.Text("error_description"), Interval: int(min(answer.Number("interval"), 3600))}
	}
	return answer, nil
}

// ErrExpired is returned if the user did not confirm the code in time.
var ErrExpired = errors.New("the code expired before it was confirmed")

// slowDown is added to the interval if the server asks for it, see RFC 8628, section 3.5.
const slowDown = 5 * time.Second

// Poll waits for a user to confirm a code on another device. It calls ask, which requests the token once, after each interval until the
// code's lifetime ends. An *Error with CodePending or CodeSlowDown, and a failure of the network or the server, continue the wait.
// Errors: ErrDenied, ErrExpired, errors of ask.
func Poll(ctx context.Context, interval, lifetime time.Duration, ask func(context.Context) (*Token, error)) (*Token, error) {
	for left := lifetime - interval; left >= 0; left -= interval {
		if err := pause.For(ctx, interval); err != nil {
			return nil, err
		}
		token, err := ask(ctx)
		if Passing(err) { // see RFC 8628, section 3.5
			interval += slowDown
			continue
		}
		var refused *Error
		if !errors.As(err, &refused) {
			return token, err
		}
		switch refused.Code {
		case CodePending:
		case CodeSlowDown:
			interval = max(interval+slowDown, time.Duration(refused.Interval)*time.Second)
		case CodeDenied:
			return nil, fmt.Errorf("%w: %w", ErrDenied, err)
		case CodeExpired:
			return nil, ErrExpired
		default:
			return nil, err
		}
	}
	return nil, ErrExpired
}
