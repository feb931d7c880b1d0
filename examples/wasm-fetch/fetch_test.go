package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/sdktest"
)

func TestVersion(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		module      string
		status      int
		body        string
		url         string
		output, err string
	}{
		"found":   {"golang.org/x/text", 200, `{"Version":"v0.30.0","Time":"2026-10-01T10:00:00Z"}`, "https://proxy.golang.org/golang.org/x/text/@latest", "golang.org/x/text v0.30.0, of 2026-10-01", ""},
		"capital": {"github.com/BurntSushi/toml", 404, "not found\n", "https://proxy.golang.org/github.com/!burnt!sushi/toml/@latest", "", "status 404: not found"},
		"odd":     {"a?b#c d", 200, `<html>`, "https://proxy.golang.org/a%3Fb%23c%20d/@latest", "", "answer of the proxy"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := sdktest.Start(t, plugin(), sdktest.Options{
				Fetch: sdktest.Responses(sdk.FetchResponse{Status: c.status, Body: sdk.Bytes(c.body)}),
			})
			result, err := h.Call(t.Context(), "go_module_version", map[string]string{"module": c.module})
			switch {
			case c.err != "":
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want %q", err, c.err)
				}
			case err != nil || result.Output != c.output:
				t.Errorf("result %+v, %v", result, err)
			}
			if fetched := h.Fetched(); len(fetched) != 1 || fetched[0].URL != c.url {
				t.Errorf("fetched %+v, want %s", fetched, c.url)
			}
			if shown := h.Progress(); len(shown) != 1 || !strings.Contains(shown[0].Title, c.module) {
				t.Errorf("shown %+v", shown)
			}
		})
	}
}

func TestNotGranted(t *testing.T) {
	t.Parallel()
	h := sdktest.Start(t, plugin(), sdktest.Options{
		Options: json.RawMessage(`{"proxy":"https://example.org"}`),
		Fetch: func(_ context.Context, req *sdk.FetchRequest) (*sdk.FetchResponse, error) {
			return nil, fmt.Errorf("%s: %w", req.URL, sdk.ErrNotGranted)
		},
	})
	if _, err := h.Call(t.Context(), "go_module_version", map[string]string{"module": "a"}); !errors.Is(err, sdk.ErrNotGranted) {
		t.Errorf("error %v", err)
	}
}
