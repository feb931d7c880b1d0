package main

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/sdktest"
)

func TestPrompt(t *testing.T) {
	t.Parallel()
	friday := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	cases := map[string]struct {
		options string
		now     time.Time
		purpose sdk.Purpose
		want    []string
		logs    int
	}{
		"nothing set":   {`{}`, friday, sdk.PurposeTurn, []string{"Be kind."}, 0},
		"no options":    {``, friday, sdk.PurposeTurn, []string{"Be kind."}, 0},
		"rules":         {`{"rules":["No tabs.","Test first."]}`, friday, sdk.PurposeTurn, []string{"Be kind.", "No tabs.", "Test first."}, 0},
		"date":          {`{"date":true}`, friday, sdk.PurposeSubtask, []string{"Be kind.", "Today is Friday, 20 November 2026."}, 0},
		"without clock": {`{"date":true}`, time.Unix(0, 0), sdk.PurposeTurn, []string{"Be kind."}, 1},
		"title":         {`{"rules":["No tabs."],"date":true}`, friday, sdk.PurposeTitle, []string{"Be kind."}, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := bundle(&prompt{now: func() time.Time { return c.now }})
			h := sdktest.Start(t, p, sdktest.Options{Options: json.RawMessage(c.options)})
			v := &sdk.ChatSystemValue{System: []string{"Be kind."}}
			if _, err := h.Fire(t.Context(), sdk.PointChatSystem, &sdk.ChatInput{Purpose: c.purpose}, v); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(v.System, c.want) {
				t.Errorf("system prompt %q, want %q", v.System, c.want)
			}
			if got := len(h.Logs()); got != c.logs {
				t.Errorf("%d lines logged, want %d", got, c.logs)
			}
		})
	}
}

func TestBadOptions(t *testing.T) {
	t.Parallel()
	for _, options := range []string{`{"rule":"x"}`, `{"rules":"x"}`, `[]`} {
		h := sdktest.New(plugin(), sdktest.Options{Options: json.RawMessage(options)})
		if err := h.Start(t.Context()); err == nil {
			t.Errorf("started with the options %s", options)
		}
	}
}
