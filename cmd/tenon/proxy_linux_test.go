package main_test

import (
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tenonhq/tenon/plugins/source/sourcetest"
)

// TestProjectPluginBehindProxy installs a plugin for a project where only the user's proxy resolves names. The proxy is not asked for addresses
// that a repository must not name.
func TestProjectPluginBehindProxy(t *testing.T) {
	t.Parallel()
	archive, err := sourcetest.Tarball("", map[string]string{
		"plugin.json": `{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "hello", "version": "1.0.0"}`, "skills/a/SKILL.md": "---\nname: a\ndescription: d\n---\n",
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(archive) }))
	t.Cleanup(server.Close)
	asked := atomic.Int32{}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		to, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		defer to.Close()
		w.WriteHeader(http.StatusOK)
		from, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer from.Close()
		go io.Copy(from, to) // ends with the connections
		_, _ = io.Copy(to, buffered)
	}))
	t.Cleanup(proxy.Close)
	p := newProcess(t, "")
	certificate := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	p.env = append(p.env, "HTTPS_PROXY="+proxy.URL, "SSL_CERT_FILE="+certificate)
	if err := os.Mkdir(filepath.Join(p.work, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	// The server's certificate is for this name.
	if _, errs := p.output(t, 0, "plugin", "install", "--yes", "--project", "https://no-such-host.example.com/hello.tar.gz"); !strings.Contains(errs, "installed hello") || asked.Load() == 0 {
		t.Errorf("installed %q with %d requests to the proxy", errs, asked.Load())
	}
	asked.Store(0)
	for _, host := range []string{"169.254.169.254", "x.localhost"} {
		if _, errs := p.output(t, 1, "plugin", "install", "--yes", "--project", "https://"+host+"/hello.tar.gz"); !strings.Contains(errs, "address refused") || asked.Load() > 0 {
			t.Errorf("%s: %q with %d requests to the proxy", host, errs, asked.Load())
		}
	}
}
