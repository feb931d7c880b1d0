package generation

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/host/convert"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// maxSampleTools bounds the tools of a request to the model; providers take 128.
const maxSampleTools = 128

// IsToolID reports whether model servers accept it as the name of a tool.
func IsToolID(id string) bool {
	return id != "" && len(id) <= 64 && strings.Trim(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}

// checkSampleTools checks the tools that a plugin offers to the model.
func checkSampleTools(req *sdk.SampleRequest) error {
	if len(req.Tools) > maxSampleTools {
		return fmt.Errorf("%d tools, want at most %d", len(req.Tools), maxSampleTools)
	}
	if !slices.Contains([]string{"", sdk.ToolChoiceAuto, sdk.ToolChoiceRequired, sdk.ToolChoiceNone}, req.ToolChoice) {
		return fmt.Errorf("toolChoice: unknown value %q: want auto, required or none", req.ToolChoice)
	}
	seen := map[string]bool{}
	for i := range req.Tools {
		t := &req.Tools[i]
		var schema map[string]json.RawMessage
		switch {
		case !IsToolID(t.ID):
			return fmt.Errorf("tools[%d].id: invalid name %.80q: want 1 to 64 of A-Z a-z 0-9 _ -", i, t.ID)
		case seen[t.ID]:
			return fmt.Errorf("tools[%d].id: duplicate name %q", i, t.ID)
		case json.Unmarshal(t.Parameters, &schema) != nil || schema == nil:
			return fmt.Errorf("tools[%d].parameters: want a JSON schema of type object", i)
		}
		seen[t.ID] = true
	}
	return nil
}

// sampleMessages checks and copies the messages that a plugin sends to the model.
func sampleMessages(messages []sdk.MessageWithParts) ([]sdk.MessageWithParts, error) {
	if len(messages) == 0 {
		return nil, errors.New("no message")
	}
	out := make([]sdk.MessageWithParts, len(messages))
	for i, m := range messages {
		if m.Info == nil {
			return nil, fmt.Errorf("messages[%d] has no role", i)
		}
		out[i].Info = m.Info
		for _, p := range m.Parts {
			parts, err := samplePart(m.Info, p)
			if err != nil {
				return nil, fmt.Errorf("messages[%d]: %w", i, err)
			}
			out[i].Parts = append(out[i].Parts, parts...)
		}
	}
	return out, nil
}

// samplePart copies a part. From a tool call in an answer it copies only the call and its text result.
func samplePart(info sdk.Message, p sdk.Part) (sdk.Parts, error) {
	call, ok := p.(*sdk.ToolPart)
	if _, answer := info.(*sdk.AssistantMessage); !ok || !answer {
		return ForeignParts(sdk.Parts{p})
	}
	if !IsToolID(call.Tool) || call.CallID == "" || call.State.Open() {
		return nil, fmt.Errorf("the call %.80q of tool %.80q: want an ID, a tool name and a result", call.CallID, call.Tool)
	}
	state := sdk.ToolState{Status: call.State.Status, Input: call.State.Input, Output: clip(call.State.Output), Error: clip(call.State.Error)}
	return sdk.Parts{&sdk.ToolPart{CallID: call.CallID, Tool: call.Tool, State: state}}, nil
}

// samplePreview bounds the part of a request to the model that the user sees, in bytes.
const samplePreview = 2000

// PreviewOf returns the beginning of a request, for the user.
func PreviewOf(req *sdk.SampleRequest) string {
	texts := []string{req.System}
	for i := range req.Messages {
		texts = append(texts, convert.Text(&req.Messages[i]))
	}
	for i := range req.Tools {
		texts = append(texts, "tool: "+req.Tools[i].ID)
	}
	return visible.Cut(strings.TrimSpace(strings.Join(texts, "\n")), samplePreview, " […]")
}
