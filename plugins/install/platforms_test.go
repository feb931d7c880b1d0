package install_test

import (
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
)

// TestRenewPlatforms: an update keeps the platforms that were pinned, and is none without another index.
func TestRenewPlatforms(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	images := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(images)
	t.Cleanup(server.Close)
	encoded := func(v any) []byte {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	const manifestType = "application/vnd.oci.image.manifest.v1+json"
	content := tarballOf(t, map[string]string{".claude-plugin/plugin.json": `{"name": "one"}`, "skills/s/SKILL.md": skill("s")})
	for _, data := range [][]byte{[]byte("{}"), content} {
		push(t, images, http.MethodPost, "/v2/o/p/blobs/uploads/?digest="+digestOf(data), "", data)
	}
	var variants []any
	for _, platform := range []map[string]string{{"os": runtime.GOOS, "architecture": runtime.GOARCH}, {"os": "plan9", "architecture": "mips"}} {
		manifest := encoded(map[string]any{
			"schemaVersion": 2, "mediaType": manifestType, "annotations": platform,
			"config": map[string]any{"mediaType": "application/x", "digest": digestOf([]byte("{}")), "size": 2},
			"layers": []any{map[string]any{"mediaType": "application/x.tar+gzip", "digest": digestOf(content), "size": len(content)}},
		})
		push(t, images, http.MethodPut, "/v2/o/p/manifests/"+digestOf(manifest), manifestType, manifest)
		variants = append(variants, map[string]any{"mediaType": manifestType, "digest": digestOf(manifest), "size": len(manifest), "platform": platform})
	}
	const indexType = "application/vnd.oci.image.index.v1+json"
	push(t, images, http.MethodPut, "/v2/o/p/manifests/v1", indexType, encoded(map[string]any{"schemaVersion": 2, "mediaType": indexType, "manifests": variants}))
	k.Fetcher.Platforms = []string{"plan9/mips"}
	first, err := k.Stage(t.Context(), k.target, "oci://"+strings.TrimPrefix(server.URL, "http://")+"/o/p:v1", nil)
	if err != nil || len(first.Platforms) != 2 {
		t.Fatalf("%+v, %v", first, err)
	}
	k.Fetcher.Platforms = nil
	if again, err := k.Renew(t.Context(), k.target, first.Plugin); err != nil || len(again.Platforms) != 2 || !again.Same(&first.Plugin) {
		t.Errorf("Renew() = %+v, %v", again, err)
	}
}
