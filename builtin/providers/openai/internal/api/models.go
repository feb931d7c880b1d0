package api

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/sdk"
)

// listedModel is an entry of GET /models with the limits that some servers add.
type listedModel struct {
	ID            string  `json:"id"`
	Name          string  `json:"name"`
	Type          string  `json:"type"`           // Together: chat, embedding, image, …
	ContextLength float64 `json:"context_length"` // OpenRouter, Together
	ContextWindow float64 `json:"context_window"` // Groq
	MaxModelLen   float64 `json:"max_model_len"`  // vLLM
	MaxOutput     float64 `json:"max_completion_tokens"`
	Meta          struct {
		Context float64 `json:"n_ctx"`       // llama.cpp: as configured at its start
		Trained float64 `json:"n_ctx_train"` // maximum of the model
	} `json:"meta"`

	copilotModel
}

// ListModels requests the server's models and keeps their order. It omits models that the listing marks as not
// for chat. Limits are zero if the listing has none. Errors: errors.ErrUnsupported at ChatGPT, whose list is for versions of Codex.
func (c *Client) ListModels(ctx context.Context) ([]sdk.Model, error) {
	if c.chatGPT {
		return nil, errors.ErrUnsupported
	}
	return wire.List(ctx, c.Conn, "models", "data", (*listedModel).model)
}

// chats reports whether the model can chat, as far as the listing shows. Local servers also list embedding
// models, which only their names reveal.
func (m *listedModel) chats() bool {
	switch m.Type {
	case "embedding", "embeddings", "image", "moderation", "rerank", "audio", "video", "transcribe":
		return false
	}
	return m.offered() && !strings.Contains(strings.ToLower(m.ID), "embed")
}

func (m *listedModel) model() sdk.Model {
	if !m.chats() {
		return sdk.Model{}
	}
	context := cmp.Or(max(m.ContextLength, m.ContextWindow, m.MaxModelLen, m.Meta.Context), m.Meta.Trained)
	out := sdk.Model{
		ID: m.ID, Name: m.Name, ToolCall: true, Temperature: true,
		Limit: sdk.ModelLimit{Context: wire.Count(context), Output: wire.Count(m.MaxOutput)},
	}
	m.describe(&out)
	return out
}
