package install_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/tenonhq/tenon/plugins/archive"
	"github.com/tenonhq/tenon/plugins/install"
	"github.com/tenonhq/tenon/plugins/pins"
	"github.com/tenonhq/tenon/plugins/source"
)

// BenchmarkInstall installs a plugin of 10 MB in 200 files from an OCI registry on this machine, as a new user. The metric transfer-ms is
// the time in which the same bytes are only requested; the rest is tenon's.
func BenchmarkInstall(b *testing.B) {
	dir := b.TempDir()
	for i := range 200 {
		data := make([]byte, 50<<10)
		if _, err := rand.Read(data); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("file", i)), data, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	about := `{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "big"}`
	if err := os.WriteFile(filepath.Join(dir, "plugin.json"), []byte(about), 0o600); err != nil {
		b.Fatal(err)
	}
	var content bytes.Buffer
	if err := archive.Pack(b.Context(), &content, archive.Directory{Path: dir}, "big"); err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	b.Cleanup(server.Close)
	ref := "oci://" + strings.TrimPrefix(server.URL, "http://") + "/big:v1"
	r, err := source.Parse(ref, "/", "/")
	if err != nil {
		b.Fatal(err)
	}
	if _, err := (&source.Fetcher{}).Push(b.Context(), r, []byte(about), content.Bytes(), nil); err != nil {
		b.Fatal(err)
	}
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(content.Bytes()) }))
	b.Cleanup(plain.Close)
	var transfer time.Duration
	for b.Loop() {
		in := installer(b, os.Environ(), "")
		if _, err := in.Stage(b.Context(), install.Target{Path: filepath.Join(b.TempDir(), pins.Name)}, ref, nil); err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		resp, err := plain.Client().Get(plain.URL)
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
		if err != nil {
			b.Fatal(err)
		}
		transfer += time.Since(start)
	}
	b.ReportMetric(float64(transfer.Milliseconds())/float64(b.N), "transfer-ms/op")
}
