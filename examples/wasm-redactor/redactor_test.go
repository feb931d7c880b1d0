package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/sdktest"
)

// Made up, of course.
const (
	awsKey  = "AKIAABCDEFGHIJKLMNOP"
	ghToken = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
)

func TestMessages(t *testing.T) {
	t.Parallel()
	h := sdktest.Start(t, plugin(), sdktest.Options{Options: json.RawMessage(`{"patterns":["hunter[0-9]"]}`)})
	v := &sdk.ChatMessagesValue{Messages: []sdk.MessageWithParts{{
		Info: &sdk.AssistantMessage{MessageHead: sdk.MessageHead{ID: "msg_1"}},
		Parts: sdk.Parts{
			&sdk.TextPart{PartHead: sdk.PartHead{ID: "prt_1"}, Text: "key " + awsKey + ", password hunter2"},
			&sdk.ReasoningPart{PartHead: sdk.PartHead{ID: "prt_2"}, Text: "use " + ghToken},
			&sdk.ToolPart{PartHead: sdk.PartHead{ID: "prt_3"}, Tool: "bash", State: sdk.ToolState{
				Status: sdk.ToolCompleted, Input: json.RawMessage(`{"command":"export KEY=` + awsKey + `"}`), Output: "KEY=" + awsKey + " PORT=80",
			}},
		},
	}}}
	answer, err := h.Fire(t.Context(), sdk.PointChatMessages, &sdk.ChatInput{}, v)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{awsKey, ghToken, "hunter2"} {
		if strings.Contains(string(text), secret) {
			t.Errorf("%s is still in %s", secret, text)
		}
	}
	if !strings.Contains(string(text), "[redacted] PORT=80") {
		t.Errorf("too much is gone: %s", text)
	}
	if len(answer.Changes) != 4 || len(h.Dropped()) != 0 {
		t.Errorf("%d changes, not declared: %v", len(answer.Changes), h.Dropped())
	}
}

func TestOutput(t *testing.T) {
	t.Parallel()
	h := sdktest.Start(t, plugin(), sdktest.Options{})
	v := &sdk.ToolAfterValue{Output: "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----\nrest"}
	if _, err := h.Fire(t.Context(), sdk.PointToolAfter, &sdk.ToolAfterInput{}, v); err != nil || v.Output != "[redacted]\nrest" {
		t.Errorf("output %q, %v", v.Output, err)
	}
	clean := &sdk.ToolAfterValue{Output: "nothing to see"}
	if answer, err := h.Fire(t.Context(), sdk.PointToolAfter, &sdk.ToolAfterInput{}, clean); err != nil || len(answer.Changes) != 0 {
		t.Errorf("changes %v, %v", answer.Changes, err)
	}
}

func TestStops(t *testing.T) {
	t.Parallel()
	for _, hook := range plugin().Hooks() {
		if hook.OnError != sdk.OnErrorStop {
			t.Errorf("hook at %s: a failure does not stop the turn", hook.Point)
		}
	}
	h := sdktest.New(plugin(), sdktest.Options{Options: json.RawMessage(`{"patterns":["("]}`)})
	if err := h.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "patterns[0]") {
		t.Errorf("a bad pattern: %v", err)
	}
	h = sdktest.Start(t, plugin(), sdktest.Options{Options: json.RawMessage(`{"patterns":["\"command\":"]}`)})
	v := &sdk.ChatMessagesValue{Messages: []sdk.MessageWithParts{{
		Info:  &sdk.AssistantMessage{},
		Parts: sdk.Parts{&sdk.ToolPart{State: sdk.ToolState{Status: sdk.ToolPending, Input: json.RawMessage(`{"command":"ls"}`)}}},
	}}}
	if _, err := h.Fire(t.Context(), sdk.PointChatMessages, &sdk.ChatInput{}, v); err == nil {
		t.Error("a pattern that breaks JSON went unnoticed")
	}
}
