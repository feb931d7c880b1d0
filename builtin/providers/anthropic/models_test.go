package anthropic_test

import (
	"errors"
	"log/slog"
	"net/http"
	"testing"

	"github.com/tenonhq/tenon/builtin/providers/anthropic"
	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/builtin/providers/internal/wiretest"
	"github.com/tenonhq/tenon/sdk"
)

// list lists the models of a server that answers with the body.
func list(t *testing.T, info sdk.ProviderInfo, body string) ([]sdk.Model, error) {
	t.Helper()
	c, err := anthropic.Open(info, wiretest.Transport(http.StatusOK, []byte(body), nil), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return c.(sdk.ModelLister).ListModels(t.Context())
}

func TestListModels(t *testing.T) {
	t.Parallel()
	models, err := list(t, wiretest.Info(), `{"data": [{"id": "claude-x", "display_name": "Claude X", "type": "model"}, {"type": "model"}], "has_more": false}`)
	if err != nil || len(models) != 1 || models[0].ID != "claude-x" || models[0].Name != "Claude X" {
		t.Errorf("ListModels() = %+v, %v", models, err)
	}
	if _, err := list(t, wiretest.Info(), `{"models": []}`); !errors.Is(err, wire.ErrMalformed) {
		t.Errorf("another list = %v, want ErrMalformed", err)
	}
	vertex := sdk.ProviderInfo{ID: "v", NPM: "@ai-sdk/google-vertex/anthropic", Options: sdk.Object{"project": "p"}}
	if _, err := list(t, vertex, ""); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Vertex AI = %v, want ErrUnsupported", err)
	}
}

func FuzzListModels(f *testing.F) {
	f.Add([]byte(`{"data": [{"id": "a"}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		models, err := list(t, wiretest.Info(), string(body))
		for _, m := range models {
			if m.ID == "" || err != nil {
				t.Errorf("model %+v, %v", m, err)
			}
		}
	})
}
