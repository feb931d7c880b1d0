package gemini_test

import (
	"errors"
	"log/slog"
	"net/http"
	"testing"

	"github.com/tenonhq/tenon/builtin/providers/gemini"
	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/builtin/providers/internal/wiretest"
	"github.com/tenonhq/tenon/sdk"
)

// list lists the models of a server that answers with the body.
func list(t *testing.T, info sdk.ProviderInfo, body string) ([]sdk.Model, error) {
	t.Helper()
	c, err := gemini.Open(info, wiretest.Transport(http.StatusOK, []byte(body), nil), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return c.(sdk.ModelLister).ListModels(t.Context())
}

func TestListModels(t *testing.T) {
	t.Parallel()
	models, err := list(t, wiretest.Info(), `{"models": [{"name": "models/gemini-x", "displayName": "Gemini X", "inputTokenLimit": 1000, "outputTokenLimit": 10, "supportedGenerationMethods": ["generateContent"]}, {"name": "models/embedding", "supportedGenerationMethods": ["embedContent"]}]}`)
	if err != nil || len(models) != 1 || models[0].ID != "gemini-x" || models[0].Name != "Gemini X" || models[0].Limit != (sdk.ModelLimit{Context: 1000, Output: 10}) {
		t.Errorf("ListModels() = %+v, %v", models, err)
	}
	if _, err := list(t, wiretest.Info(), `{"data": []}`); !errors.Is(err, wire.ErrMalformed) {
		t.Errorf("another list = %v, want ErrMalformed", err)
	}
	vertex := sdk.ProviderInfo{ID: "v", NPM: "@ai-sdk/google-vertex", Options: sdk.Object{"project": "p"}}
	if _, err := list(t, vertex, ""); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Vertex AI = %v, want ErrUnsupported", err)
	}
}

func FuzzListModels(f *testing.F) {
	f.Add([]byte(`{"models": [{"name": "models/a"}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		models, err := list(t, wiretest.Info(), string(body))
		for _, m := range models {
			if m.ID == "" || err != nil {
				t.Errorf("model %+v, %v", m, err)
			}
		}
	})
}
