package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/tenonhq/tenon/sdk"
)

// prompt holds the plugin's options, as in plugin.json, and its abilities of the host.
type prompt struct {
	Rules []string `json:"rules"`
	Date  bool     `json:"date"`

	log *slog.Logger
	now func() time.Time
}

func plugin() *sdk.Bundle { return bundle(&prompt{now: time.Now}) }

func bundle(p *prompt) *sdk.Bundle {
	hook := sdk.OnChatSystem(p.add)
	hook.Reads, hook.Writes = []string{"/system"}, []string{"/system"}
	return &sdk.Bundle{
		Info: sdk.Manifest{
			Name: "wasm-prompt", Version: "1.0.0", Description: "Adds house rules and the date to the system prompt", Carrier: sdk.CarrierWASM,
			Capabilities: []sdk.Capability{{Name: sdk.CapabilityClock, Reason: "to tell the model the date"}},
		},
		HookList: []sdk.Hook{hook},
		Options:  p,
		OnStart:  p.start,
	}
}

func (p *prompt) start(_ context.Context, h sdk.Host) error {
	p.log = h.Logger()
	return nil
}

// add changes only the requests that the user waits for. Titles and summaries do not need our rules.
func (p *prompt) add(_ context.Context, in *sdk.ChatInput, v *sdk.ChatSystemValue) error {
	if in.Purpose != sdk.PurposeTurn && in.Purpose != sdk.PurposeSubtask {
		return nil
	}
	v.System = append(v.System, p.Rules...)
	if p.Date {
		p.addDate(v)
	}
	return nil
}

// firstYear is before any real time. A module without the ability clock sees a wrong time.
const firstYear = 2024

func (p *prompt) addDate(v *sdk.ChatSystemValue) {
	now := p.now()
	if now.Year() < firstYear {
		p.log.Warn("no date: the capability clock is not granted")
		return
	}
	v.System = append(v.System, "Today is "+now.Format("Monday, 2 January 2006")+".")
}
