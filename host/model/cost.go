package model

import "github.com/tenonhq/tenon/sdk"

// longPrompt is the number of prompt tokens above which the higher price tier of some models applies.
const longPrompt = 200_000

// StepCost returns the cost of a step by the model's price table. Reasoning is billed as output.
func StepCost(m *sdk.Model, t sdk.Tokens) sdk.USD {
	price := priceFor(&m.Cost, t.Input+t.Cache.Read+t.Cache.Write)
	return price.Input.Times(t.Input) + price.Output.Times(t.Output+t.Reasoning) +
		price.CacheRead.Times(t.Cache.Read) + price.CacheWrite.Times(t.Cache.Write)
}

// priceFor returns the prices of a request with so many tokens of prompt.
func priceFor(c *sdk.ModelCost, prompt int64) sdk.ModelCost {
	var found *sdk.PriceTier
	for i := range c.Tiers {
		tier := &c.Tiers[i]
		if (tier.Tier.Type == "context" || tier.Tier.Type == "") && prompt > tier.Tier.Size && (found == nil || tier.Tier.Size > found.Tier.Size) {
			found = tier
		}
	}
	switch {
	case found != nil:
		return sdk.ModelCost{Input: found.Input, Output: found.Output, CacheRead: found.CacheRead, CacheWrite: found.CacheWrite}
	case c.Over200K != nil && prompt > longPrompt:
		return *c.Over200K
	}
	return *c
}
