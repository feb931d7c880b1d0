package wire

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/internal/httpx"
	"github.com/tenonhq/tenon/sdk"
)

// The error of a proxy that requires a password has its status, so that the request is not repeated.
func TestProxyPassword(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusProxyAuthRequired) }))
	t.Cleanup(server.Close)
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	transport := NewTransport()
	transport.Proxy = http.ProxyURL(address)
	t.Cleanup(transport.CloseIdleConnections)
	info := sdk.ProviderInfo{ID: "p", BaseURL: "https://server.invalid/v1"}
	conn, err := Open(Setup{Info: info, Options: NewOptions(&info), Transport: transport, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = List(t.Context(), conn, "models", "data", func(*struct{}) sdk.Model { return sdk.Model{} })
	if got, ok := errors.AsType[*sdk.ProviderError](err); !ok || got.StatusCode != http.StatusProxyAuthRequired || !strings.Contains(got.Message, server.URL) {
		t.Errorf("List() = %v, want the status 407 of the proxy", err)
	}
}

// TestPortkey: all headers of Portkey, a gateway, have key in their names, but the name of a provider, such as openai, must not be masked.
func TestPortkey(t *testing.T) {
	t.Parallel()
	got := headerSecrets(http.Header{"X-Portkey-Provider": {"openai"}, "X-Portkey-Config": {"pk-1234"}})
	if want := []string{"pk-1234", "pk-1234"}; !slices.Equal(got, want) {
		t.Errorf("headerSecrets() = %q, want %q", got, want)
	}
}

// TestCertificateBehindProxy: proxies that inspect TLS send their own certificates, so the error names both.
func TestCertificateBehindProxy(t *testing.T) {
	t.Parallel()
	cert := &tls.CertificateVerificationError{Err: errors.New("unknown authority")}
	got := connectionTrouble(&httpx.ProxyError{Proxy: "http://proxy.invalid:3128", Err: cert}, "https://api.example.com/v1")
	if !strings.Contains(got, "certificate of api.example.com through the proxy http://proxy.invalid:3128") || strings.Contains(got, "NO_PROXY") {
		t.Errorf("connectionTrouble() = %q, want the certificate and the proxy", got)
	}
}

// TestUnknownIssuer: companies and local servers have their own issuers, so the error says how to trust one.
func TestUnknownIssuer(t *testing.T) {
	t.Parallel()
	cert := &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}
	if got := connectionTrouble(cert, "https://api.example.com/v1"); !strings.Contains(got, "SSL_CERT_FILE") {
		t.Errorf("connectionTrouble() = %q, want the variable that names the issuer's certificate", got)
	}
}

// TestProxyTrouble checks that the reason for a missing response names the proxy, and not the server's setting, if the proxy fails.
func TestProxyTrouble(t *testing.T) {
	t.Parallel()
	dns := &net.DNSError{Err: "no such host", Name: "proxy.invalid", IsNotFound: true}
	got := connectionTrouble(fmt.Errorf("post: %w", &httpx.ProxyError{Proxy: "http://proxy.invalid:3128", Err: dns}), "https://api.example.com/v1")
	if !strings.Contains(got, "api.example.com through the proxy http://proxy.invalid:3128: ") || strings.Contains(got, "baseURL") {
		t.Errorf("connectionTrouble() = %q, want the proxy, and not options.baseURL", got)
	}
}
