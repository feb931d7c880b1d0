package model

import "github.com/tenonhq/tenon/sdk"

// longPrompt is from how many prompt tokens on the higher price tier of some models counts.
const longPrompt = 200_000

// StepCost returns what a step costs by the model's price table. Reasoning is billed as output.
func StepCost(m *sdk.Model, t sdk.Tokens) sdk.USD {
	price := m.Cost
	if price.Over200K != nil && t.Input+t.Cache.Read+t.Cache.Write > longPrompt {
		price = *price.Over200K
	}
	return price.Input.Times(t.Input) + price.Output.Times(t.Output+t.Reasoning) +
		price.CacheRead.Times(t.Cache.Read) + price.CacheWrite.Times(t.Cache.Write)
}
