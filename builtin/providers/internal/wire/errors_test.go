package wire

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/internal/httpx"
)

// TestProxyTrouble checks that the reason for a missing response names the proxy, and not the server's setting, if the proxy fails.
func TestProxyTrouble(t *testing.T) {
	t.Parallel()
	dns := &net.DNSError{Err: "no such host", Name: "proxy.invalid", IsNotFound: true}
	got := connectionTrouble(fmt.Errorf("post: %w", &httpx.ProxyError{Proxy: "http://proxy.invalid:3128", Err: dns}), "https://api.example.com/v1")
	if !strings.Contains(got, "api.example.com through the proxy http://proxy.invalid:3128: ") || strings.Contains(got, "baseURL") {
		t.Errorf("connectionTrouble() = %q, want the proxy, and not options.baseURL", got)
	}
}
