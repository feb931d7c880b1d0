package openai_test

import (
	"bufio"
	"bytes"
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenonhq/tenon/builtin/providers/openai"
	"github.com/tenonhq/tenon/internal/fakellm"
	"github.com/tenonhq/tenon/sdk"
)

// BenchmarkFirstRequest compares the first request of a provider, from opening the client to the first event of the answer, with the same
// request of net/http, until its first line. The two alternate. ratio is the quotient of the medians; between two versions it grows at most by a tenth.
func BenchmarkFirstRequest(b *testing.B) {
	srv := fakellm.Start()
	defer srv.Close()
	srv.Always(fakellm.Repeat("word ", 20))
	body, err := openai.EncodeBody(openai.ProtocolChat, hello())
	if err != nil {
		b.Fatal(err)
	}
	var ours, bare []time.Duration
	for b.Loop() {
		start := time.Now()
		p := openai.New()
		client, err := p.Protocols()[0].Open(sdk.ProviderInfo{ID: "test", BaseURL: srv.URL(), Key: "k"})
		if err != nil {
			b.Fatal(err)
		}
		var first time.Duration
		err = client.Stream(context.Background(), hello(), func(sdk.StreamEvent) error {
			if first == 0 {
				first = time.Since(start)
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		ours = append(ours, first)
		_ = p.Close(context.Background())
		bare = append(bare, bareRequest(b, srv.URL(), body))
	}
	slices.Sort(ours)
	slices.Sort(bare)
	b.ReportMetric(float64(ours[len(ours)/2])/float64(bare[len(bare)/2]), "ratio")
}

// bareRequest returns the time until the first line of the answer, which it reads to its end.
func bareRequest(b *testing.B, base string, body []byte) (first time.Duration) {
	b.Helper()
	start := time.Now()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, base+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer k")
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	lines, done := bufio.NewScanner(res.Body), false
	for lines.Scan() {
		if first == 0 {
			first = time.Since(start)
		}
		done = done || strings.HasPrefix(lines.Text(), "data: [DONE]")
	}
	if err := lines.Err(); err != nil || !done {
		b.Fatalf("answer complete: %v, %v", done, err)
	}
	return first
}
