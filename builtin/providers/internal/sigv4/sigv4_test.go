package sigv4

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/rogpeppe/go-internal/txtar"
)

// TestPublishedSignatures signs the requests of AWS's test suite, see testdata/sigv4.txtar.
func TestPublishedSignatures(t *testing.T) {
	t.Parallel()
	archive, err := txtar.ParseFile("testdata/sigv4.txtar")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range archive.Files {
		files[f.Name] = string(f.Data)
	}
	at := time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)
	signed := 0
	for name, content := range files {
		name, ok := strings.CutSuffix(name, ".req")
		if !ok {
			continue
		}
		req, body := parseRequest(t, content)
		credentials := aws.Credentials{
			AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", SessionToken: req.Header.Get("X-Amz-Security-Token"),
		}
		if err := sign(t.Context(), req, body, credentials, "service", "us-east-1", at); err != nil {
			t.Fatal(err)
		}
		if got, want := req.Header.Get("Authorization"), strings.TrimSpace(files[name+".authz"]); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
		signed++
	}
	if signed < 10 {
		t.Errorf("%d requests signed", signed)
	}
}

func parseRequest(t *testing.T, content string) (*http.Request, []byte) {
	t.Helper()
	head, body, _ := strings.Cut(content, "\n\n")
	req, err := http.ReadRequest(bufio.NewReader(strings.NewReader(strings.TrimRight(head, "\n") + "\n\n")))
	if err != nil {
		t.Fatal(err)
	}
	req.URL.Scheme, req.URL.Host = "https", req.Host
	body = strings.TrimSuffix(body, "\n")
	req.Body = io.NopCloser(strings.NewReader(body))
	return req, []byte(body)
}
