package wire

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/httpx"
	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/internal/secret"
	"github.com/tenonhq/tenon/sdk"
)

// maxErrorBody is the maximum size of an error's body in bytes.
const maxErrorBody = 16 << 10

// Refusal is an error of the server: an HTTP status, or an error within a stream.
type Refusal struct {
	Status int
	Header http.Header // nil for an error in a stream
	Body   []byte

	address string // of the request; empty for an error in a stream
}

// Error returns the status.
func (r *Refusal) Error() string { return fmt.Sprintf("refused with status %d", r.Status) }

// sinkError is an error of the receiver of events, not of the provider.
type sinkError struct{ err error }

func (e *sinkError) Error() string { return e.err.Error() }
func (e *sinkError) Unwrap() error { return e.err }

// succeeded returns a refusal unless the response is a success.
func succeeded(res *http.Response) (*http.Response, error) {
	if res.StatusCode/100 == 2 {
		return res, nil
	}
	defer res.Body.Close()
	at := *res.Request.URL
	at.User, at.RawQuery, at.Fragment = nil, "", ""
	return nil, &Refusal{Status: res.StatusCode, Header: res.Header, Body: httpx.Excerpt(res.Body, maxErrorBody), address: at.String()}
}

// failure converts the error that ended an exchange to a *sdk.ProviderError, unless the caller caused it.
func (c *Conn) failure(ctx context.Context, ex *exchange, err error) error {
	var sunk *sinkError
	var refused *Refusal
	var auth *authError
	var mismatch *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &sunk):
		return sunk.err
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &refused):
		return c.refused(ex, refused)
	}
	out := &sdk.ProviderError{ProviderID: c.Info.ID, Err: err}
	if ex.res != nil {
		out.StatusCode, out.Headers = ex.res.StatusCode, ex.headersOf(ex.res.Header)
	}
	idle := ex.timedOut()
	switch {
	case idle != nil:
		out.Err, out.Cut = idle, idle.begun
		out.Message = fmt.Sprintf("%s; options.timeout of the provider (milliseconds) sets how long to wait", idle)
	case errors.As(err, &auth):
		out.Message = ex.scrub(err.Error())
		if !auth.passing {
			out.StatusCode = http.StatusUnauthorized
		}
	case errors.Is(err, errHTML):
		out.Message = fmt.Sprintf("%s: check options.baseURL, which is %s", err, secret.WithoutSecrets(c.Info.BaseURL))
	case errors.As(err, &mismatch) && mismatch.Field != "": // the server's next answer has the same type
		out.Message = fmt.Sprintf("the server's answer is not in the format of the provider: %s is a JSON %s; check protocol and npm in the configuration", mismatch.Field, mismatch.Value)
	case ex.res != nil:
		out.Cut, out.Message = true, ex.scrub(err.Error())
	default:
		out.Err = httpx.WithoutURL(err)
		out.Message = ex.scrub(connectionTrouble(out.Err, c.Info.BaseURL))
		if errors.Is(err, errProxyLogin) || errors.Is(err, httpx.ErrProxyAddress) {
			out.StatusCode = http.StatusProxyAuthRequired
		}
	}
	return out
}

func (c *Conn) refused(ex *exchange, r *Refusal) error {
	if r.Header == nil && ex.res != nil {
		r.Status, r.Header = ex.res.StatusCode, ex.res.Header
	}
	if len(r.Body) > maxErrorBody {
		r.Body = r.Body[:maxErrorBody]
	}
	said := readError(r.Body)
	out := &sdk.ProviderError{
		ProviderID: c.Info.ID,
		StatusCode: r.Status,
		Headers:    ex.headersOf(r.Header),
		Body:       ex.scrub(string(r.Body)),
		Code:       said.code,
		Message:    ex.scrub(said.message),
	}
	if name, _, _ := strings.Cut(r.Header.Get("X-Amzn-Errortype"), ":"); out.Code == "" { // AWS
		out.Code = name
	}
	// An error in a stream has the HTTP status 200, so the status in the error is more useful.
	if said.status != 0 && r.Status/100 == 2 {
		out.StatusCode = said.status
	}
	if r.Status/100 != 2 {
		out.Message = cmp.Or(out.Message, strings.ToLower(http.StatusText(r.Status)))
	}
	out.Message = cmp.Or(out.Message, "the server gave no reason")
	if isPage(r.Body) {
		out.Message += "; the answer is a web page, perhaps from a proxy or gateway"
	}
	if said := strings.ToLower(out.Message); r.Status == http.StatusNotFound && (strings.Contains(said, "not found") || strings.Contains(said, "invalid url")) && !strings.Contains(said, "model") {
		out.Message += "; the address of the request was " + ex.scrub(r.address) // often /v1 is missing or duplicated
	}
	return out
}

func (ex *exchange) headersOf(header http.Header) map[string]string {
	out := make(map[string]string, len(header))
	for name, values := range header {
		if name = strings.ToLower(name); name != "set-cookie" {
			out[name] = ex.scrub(strings.Join(values, ", "))
		}
	}
	return out
}

// scrub removes the secrets of the exchange from the text of a server or an error.
func (ex *exchange) scrub(text string) string { return secret.Hide(text, ex.secrets) }

// secretsOf lists the key and the credentials in the URL. Those in headers are in headerSecrets.
func secretsOf(info sdk.ProviderInfo, base *url.URL) []string {
	password, _ := base.User.Password()
	secrets := []string{info.Key, password}
	for _, values := range base.Query() {
		secrets = append(secrets, values...)
	}
	return headerSecrets(nil, secrets...)
}

// credentials matches the names of headers with credentials.
var credentials = lazyregexp.New(`(?i)auth|key|token|secret|cookie`)

// headerSecrets adds the values of headers with credentials to other secrets. It leaves out values that are common words.
func headerSecrets(header http.Header, secrets ...string) []string {
	for name, values := range header {
		for _, value := range values {
			if credentials().MatchString(name) && !strings.HasSuffix(strings.ToLower(name), "-provider") { // x-portkey-provider is openai
				secrets = append(secrets, value, value[strings.LastIndexByte(value, ' ')+1:]) // without a scheme, such as Bearer
			}
		}
	}
	return slices.DeleteFunc(secrets, func(s string) bool { return len(s) < 4 })
}

// connectionTrouble returns a readable reason for a missing response.
func connectionTrouble(err error, baseURL string) string {
	host := baseURL
	if u, parseErr := url.Parse(baseURL); parseErr == nil {
		host = u.Host
	}
	var dns *net.DNSError
	var dial *net.OpError
	var cert *tls.CertificateVerificationError
	var proxy *httpx.ProxyError
	if errors.As(err, &proxy) {
		host += " through the proxy " + proxy.Proxy
	}
	switch {
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return fmt.Sprintf("the certificate of %s is not trusted: its issuer is unknown; %s", host, httpx.TrustRemedy)
	case errors.As(err, &cert):
		return fmt.Sprintf("the certificate of %s is not trusted: %s", host, cert.Err)
	case proxy != nil:
		return fmt.Sprintf("no answer from %s: %s: check HTTPS_PROXY and NO_PROXY, and the network", host, proxy.Err)
	case errors.As(err, &dns):
		return fmt.Sprintf("host %q not found: check options.baseURL and the network (%s)", dns.Name, dns.Err)
	case httpx.NoTLS(err):
		return fmt.Sprintf("%s does not support TLS (does options.baseURL need http:// instead of https://?)", host)
	case errors.As(err, &dial) && dial.Op == "dial":
		return fmt.Sprintf("cannot connect to %s: %s (is the server running, and is options.baseURL correct?)", host, dial.Err)
	case errors.Is(err, io.EOF):
		return fmt.Sprintf("%s closed the connection without an answer", host)
	}
	return fmt.Sprintf("no answer from %s: %s", host, err)
}
