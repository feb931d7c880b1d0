package compact

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/host/model"
	"github.com/tenonhq/tenon/internal/fakellm"
	"github.com/tenonhq/tenon/sdk"
)

// TestClassifyKnowsHowServersSayTooLong asks a server for the answer of each well-known one to a prompt that
// is too long.
func TestClassifyKnowsHowServersSayTooLong(t *testing.T) {
	t.Parallel()
	for name, reply := range fakellm.Overflows() {
		srv := fakellm.New(t, reply)
		resp, err := http.Post(srv.URL()+"/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[]}`))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
		if got := model.Classify(&sdk.ProviderError{StatusCode: resp.StatusCode, Body: string(body)}); got != model.ClassOverflow {
			t.Errorf("%s: status %d, %s: class %d, want %d", name, resp.StatusCode, body, got, model.ClassOverflow)
		}
	}
}
