package sigv4

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/tenonhq/tenon/builtin/providers/internal/wiretest"
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

// TestQuiet: AWS's library does not write to stderr, which belongs to the user interface. The metadata server of this machine refuses.
func TestQuiet(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer server.Close()
	wiretest.AWSCredentials(t)
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_EC2_METADATA_SERVICE_ENDPOINT": server.URL, "AWS_EC2_METADATA_DISABLED": ""} {
		t.Setenv(name, value)
	}
	written, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer written.Close()
	defer func(stderr *os.File) { os.Stderr = stderr }(os.Stderr)
	os.Stderr = written
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://bedrock.example", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := (&signer{service: "bedrock", region: DefaultRegion}).authorize(req, nil); err == nil || !strings.Contains(err.Error(), "no AWS credentials") {
		t.Errorf("authorize() = %v, want an error", err)
	}
	if text, err := os.ReadFile(written.Name()); err != nil || len(text) > 0 {
		t.Errorf("stderr: %s, %v", text, err)
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
