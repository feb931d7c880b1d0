package responses

import (
	"encoding/json"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/sdk"
)

// usage is the usage of the Responses protocol.
type usage struct {
	Input        float64 `json:"input_tokens"`
	Output       float64 `json:"output_tokens"`
	Total        float64 `json:"total_tokens"`
	InputDetails struct {
		Cached float64 `json:"cached_tokens"`
		Write  float64 `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	OutputDetails struct {
		Reasoning float64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

func tokensOf(raw json.RawMessage) sdk.Tokens {
	var u usage
	if len(raw) == 0 || json.Unmarshal(raw, &u) != nil {
		return sdk.Tokens{}
	}
	return wire.CountTokens(u.Input, u.Output, u.Total, u.InputDetails.Cached, u.InputDetails.Write, u.OutputDetails.Reasoning)
}
