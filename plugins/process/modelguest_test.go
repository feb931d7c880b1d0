package process_test

import (
	"context"
	"errors"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

// withModels is a guest with a provider whose models do what they are named for.
type withModels struct{ *sdk.Bundle }

func (*withModels) Providers() []sdk.ProviderInfo {
	return []sdk.ProviderInfo{{ID: "acme", Name: "Acme", Protocol: "acme", Env: []string{"ACME_KEY"}}}
}

func (*withModels) Agents() []sdk.Agent {
	return []sdk.Agent{{Name: "poet", Mode: sdk.ModePrimary}}
}

func (*withModels) Protocols() []sdk.Protocol {
	open := func(info sdk.ProviderInfo) (sdk.ModelClient, error) { return &acme{info}, nil }
	return []sdk.Protocol{
		{Name: "acme", Open: open},
		{Name: "mute", Open: func(info sdk.ProviderInfo) (sdk.ModelClient, error) { return mute{&acme{info}}, nil }},
		{Name: "broken", Open: func(sdk.ProviderInfo) (sdk.ModelClient, error) { return nil, errors.New("no base URL") }},
	}
}

// mute cannot list its models.
type mute struct{ sdk.ModelClient }

type acme struct{ info sdk.ProviderInfo }

var acmeError = &sdk.ProviderError{
	ProviderID: "acme", StatusCode: 429, Headers: map[string]string{"retry-after": "3"}, Body: "{\"error\":\"\xff\"}",
	Code: "rate_limit", Message: "slow down", Err: errors.New("the cause"),
}

func (a *acme) Stream(ctx context.Context, req *sdk.ModelRequest, sink func(sdk.StreamEvent) error) error {
	say := func(text string) error { return sink(sdk.StreamEvent{Type: sdk.StreamText, ID: "1", Text: text}) }
	if err := say(a.info.Key + " " + a.info.BaseURL + " " + req.SessionID); err != nil {
		return err
	}
	switch req.Model.ID {
	case "limited":
		return acmeError
	case "plain-error":
		return errors.New("out of paper")
	case "throw":
		panic("boom")
	case "many":
		for range 200 {
			if err := say("more"); err != nil {
				return err
			}
		}
	case "huge":
		return say(strings.Repeat("x", 16<<20))
	case "endless":
		for {
			if err := say(strings.Repeat("more", 1000)); err != nil {
				return err
			}
		}
	case "wait":
		<-ctx.Done()
		return ctx.Err()
	}
	return sink(sdk.StreamEvent{Type: sdk.StreamFinish, Reason: "stop", Tokens: sdk.Tokens{Output: 7}})
}

func (a *acme) ListModels(context.Context) ([]sdk.Model, error) {
	if a.info.Key == "" {
		return nil, &sdk.ProviderError{StatusCode: 401, Message: "no key"}
	}
	return []sdk.Model{{ID: "one"}, {ID: "two"}}, nil
}
