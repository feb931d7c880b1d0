package source_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/plugins/source"
)

// TestSeed: a seed replaces the download of what is named by its digest, and nothing else.
func TestSeed(t *testing.T) {
	t.Parallel()
	data := targz(t, map[string]string{"p/plugin.json": "{}"})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, source.MinisignSuffix) {
			t.Errorf("%s was requested", r.URL)
		}
		_, _ = w.Write([]byte("of the server"))
	}))
	t.Cleanup(server.Close)
	f := fetcher(t)
	f.Seed = t.TempDir()
	for name, content := range map[string][]byte{"files/" + hexSum(data): data, "signatures/" + hexSum(data) + source.MinisignSuffix: []byte("of the seed")} {
		path := filepath.Join(f.Seed, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	f.Verify = func(ctx context.Context, a *source.Artifact) (string, error) {
		list, err := a.Signatures(ctx, source.MinisignSuffix)
		return string(slices.Concat(list...)), err
	}
	out, _, err := fetch(t, f, server.URL+"/a.tar.gz#sha256="+hexSum(data), nil)
	if err != nil || out.Signer != "of the server" {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestSignatureAddress: a signature is next to its file, also if the address has escaped characters that mean something else unescaped.
func TestSignatureAddress(t *testing.T) {
	t.Parallel()
	data := targz(t, map[string]string{"p/plugin.json": "{}"})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.EscapedPath() {
		case "/d%2Fe/a.tar.gz":
			_, _ = w.Write(data)
		case "/d%2Fe/a.tar.gz" + source.MinisignSuffix:
			_, _ = w.Write([]byte("signature"))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	f := fetcher(t)
	f.Verify = func(ctx context.Context, a *source.Artifact) (string, error) {
		list, err := a.Signatures(ctx, source.MinisignSuffix)
		return string(slices.Concat(list...)), err
	}
	if out, _, err := fetch(t, f, server.URL+"/d%2Fe/a.tar.gz", nil); err != nil || out.Signer != "signature" {
		t.Errorf("%+v, %v", out, err)
	}
}
