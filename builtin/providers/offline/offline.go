// Package offline is a model that needs no key, network or server. It does not reason: it runs the tool calls
// in the prompt, or replays a script, through the same loop, hooks and permissions as any model. With it,
// authors can try and test plugins and configurations anywhere.
//
// Each answer depends only on the request: the same conversation gets the same answer in every
// process.
//
//	Stream ── purpose ──► offline.go     a title
//	                 ├──► script.go      the reply for this position of the conversation
//	                 └──► literal.go     the calls in the prompt, then their results
package offline

import (
	"cmp"
	"context"
	"strings"

	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// Names of the provider, its one model and its protocol.
const (
	ProviderID = "offline"
	ModelID    = "offline"
	Protocol   = "offline"
)

// New returns the plugin. Any provider may use its protocol, each with its own script.
func New() *sdk.Bundle {
	model := sdk.Model{
		ID: ModelID, ProviderID: ProviderID, Name: "Offline (no reasoning)", ToolCall: true,
		Limit:      sdk.ModelLimit{Context: 1_000_000, Output: 32_000},
		Modalities: sdk.Modalities{Input: []string{"text"}, Output: []string{"text"}},
	}
	dir := "" // base of a script's relative path
	return &sdk.Bundle{
		Info: sdk.Manifest{
			Name:        "offline",
			Description: "A model without a network: runs the tool calls written in the prompt, or a script of replies",
			Carrier:     sdk.CarrierBuiltin,
		},
		ProviderList: []sdk.ProviderInfo{{
			ID: ProviderID, Name: "Offline", Protocol: Protocol, Default: ModelID, Small: ModelID,
			Models: map[string]sdk.Model{ModelID: model},
		}},
		ProtocolList: []sdk.Protocol{{Name: Protocol, Open: func(info sdk.ProviderInfo) (sdk.ModelClient, error) { return newClient(info, dir) }}},
		OnStart: func(_ context.Context, h sdk.Host) error {
			dir = h.Project().Directory
			return nil
		},
	}
}

// Bounds of titles.
const (
	titleWords = 8
	titleBytes = 60
)

// title returns the first words of the last prompt.
func title(req *sdk.ModelRequest) string {
	var words []string
	if last := lastUser(req.Messages, len(req.Messages)); last >= 0 {
		words = strings.Fields(strings.Join(userTexts(&req.Messages[last]), "\n"))
	}
	return cmp.Or(visible.Cut(strings.Join(words[:min(len(words), titleWords)], " "), titleBytes, "…"), "Untitled")
}
