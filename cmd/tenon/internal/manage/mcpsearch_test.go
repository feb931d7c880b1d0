package manage

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSearch(t *testing.T) {
	t.Parallel()
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Query().Get("search") {
		case "file system":
			_, _ = w.Write([]byte(`{"servers":[{"server":{"name":"io.example/files","version":"1.0.0","packages":[{"registryType":"npm","identifier":"@x/files"}]}},
				{"server":{"name":"io.example/web","remotes":[{"type":"streamable-http","url":"https://x.example/mcp"}]}},{"server":{}}],"metadata":{"count":2}}`))
		case "moved":
			http.Redirect(w, r, "/v0.1/servers?search=file+system", http.StatusFound)
		default:
			_, _ = w.Write([]byte(`<html>`))
		}
	}))
	t.Cleanup(registry.Close)
	for _, words := range []string{"file system", "moved"} {
		list, err := search(t.Context(), registry.URL+"/", words)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range list {
			got = append(got, r.Name+" "+r.source())
		}
		if diff := cmp.Diff([]string{"io.example/files npm:@x/files", "io.example/web https://x.example/mcp"}, got); diff != "" {
			t.Error(diff)
		}
	}
	if _, err := search(t.Context(), registry.URL, "no JSON"); err == nil {
		t.Error("an answer that is not JSON succeeded")
	}
}

func FuzzRegistry(f *testing.F) {
	f.Add([]byte(`{"servers":[{"server":{"name":"a","remotes":[{"url":"u"}]}}]}`))
	f.Add([]byte(`{"servers":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := decodeServers(data)
		for i := range list {
			if err != nil || list[i].Name == "" {
				t.Errorf("server %+v, %v", list[i], err)
			}
			_ = list[i].source()
		}
	})
}
