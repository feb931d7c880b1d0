package interceptor

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
)

// This file maps model requests to the event llm/completion. It occurs at three hook points, each with a part of the request: the
// system prompt, the messages, the parameters.

// completionRequest is the payload of a request.
type completionRequest struct {
	Model       string              `json:"model,omitempty"`
	Messages    []completionMessage `json:"messages,omitempty"`
	MaxTokens   *int64              `json:"maxTokens,omitempty"`
	Temperature *float64            `json:"temperature,omitempty"`
	TopP        *float64            `json:"topP,omitempty"`
	Metadata    map[string]string   `json:"metadata,omitempty"`
}

// completionMessage is a text of a request: the text of one part of a message, or the output of a tool.
type completionMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// completionResponse is the payload of a response.
type completionResponse struct {
	Message completionMessage `json:"message"`
}

func newRequest(call *sdk.RemoteCall) (*completionRequest, error) {
	var in struct {
		Model struct {
			ID         string `json:"id"`
			ProviderID string `json:"providerID"`
		} `json:"model"`
		Purpose string `json:"purpose"`
		Agent   string `json:"agent"`
	}
	if err := json.Unmarshal(call.Input, &in); err != nil {
		return nil, err
	}
	return &completionRequest{
		Model: in.Model.ProviderID + "/" + in.Model.ID, Metadata: map[string]string{"purpose": in.Purpose, "agent": in.Agent},
	}, nil
}

func systemPayload(_ *toolNames, call *sdk.RemoteCall) (json.RawMessage, error) {
	var value sdk.ChatSystemValue
	r, err := newRequest(call)
	if err := errors.Join(err, json.Unmarshal(call.Value, &value)); err != nil {
		return nil, err
	}
	for _, text := range value.System {
		r.Messages = append(r.Messages, completionMessage{"system", text})
	}
	return json.Marshal(r)
}

func systemChanges(_ *sdk.RemoteCall, a, b *completionRequest) ([]sdk.Change, error) {
	old, now := sdk.ChatSystemValue{System: contents(a.Messages)}, sdk.ChatSystemValue{System: contents(b.Messages)}
	return value.Diff[sdk.Change](&old, &now)
}

func contents(list []completionMessage) []string {
	out := make([]string, len(list))
	for i, m := range list {
		out[i] = m.Content
	}
	return out
}

// sentMessages is the part of the messages that is sent: texts and tool outputs.
type sentMessages struct {
	Messages []struct {
		Info struct {
			Role string `json:"role"`
		} `json:"info"`
		Parts []struct {
			Text  *string `json:"text"`
			State *struct {
				Output *string `json:"output"`
			} `json:"state"`
		} `json:"parts"`
	} `json:"messages"`
}

// texts calls f for each text with its pointer.
func (s *sentMessages) texts(f func(pointer, role, text string)) {
	for i, m := range s.Messages {
		for j, p := range m.Parts {
			at := fmt.Sprintf("/messages/%d/parts/%d", i, j)
			if p.Text != nil {
				f(at+"/text", m.Info.Role, *p.Text)
			}
			if p.State != nil && p.State.Output != nil {
				f(at+"/state/output", "tool", *p.State.Output)
			}
		}
	}
}

func messagesPayload(_ *toolNames, call *sdk.RemoteCall) (json.RawMessage, error) {
	var sent sentMessages
	r, err := newRequest(call)
	if err := errors.Join(err, json.Unmarshal(call.Value, &sent)); err != nil {
		return nil, err
	}
	sent.texts(func(_, role, text string) { r.Messages = append(r.Messages, completionMessage{role, text}) })
	return json.Marshal(r)
}

func messagesChanges(call *sdk.RemoteCall, a, b *completionRequest) (changes []sdk.Change, err error) {
	if len(a.Messages) != len(b.Messages) {
		return nil, fmt.Errorf("%d messages instead of %d: the number of messages must not change", len(b.Messages), len(a.Messages))
	}
	var sent sentMessages
	if err := json.Unmarshal(call.Value, &sent); err != nil {
		return nil, err
	}
	n := 0
	sent.texts(func(pointer, _, text string) {
		change, problem := changeText(pointer, text, b.Messages[n].Content)
		changes, err = append(changes, change...), errors.Join(err, problem)
		n++
	})
	return changes, err
}

func paramsPayload(_ *toolNames, call *sdk.RemoteCall) (json.RawMessage, error) {
	var value sdk.ChatParams
	r, err := newRequest(call)
	if err := errors.Join(err, json.Unmarshal(call.Value, &value)); err != nil {
		return nil, err
	}
	r.Temperature, r.TopP = value.Temperature, value.TopP
	if value.MaxOutputTokens != 0 {
		r.MaxTokens = &value.MaxOutputTokens
	}
	return json.Marshal(r)
}

func paramsChanges(_ *sdk.RemoteCall, a, b *completionRequest) ([]sdk.Change, error) {
	old, now := a.params(), b.params()
	return value.Diff[sdk.Change](&old, &now)
}

func (r *completionRequest) params() sdk.ChatParams {
	p := sdk.ChatParams{Temperature: r.Temperature, TopP: r.TopP}
	if r.MaxTokens != nil {
		p.MaxOutputTokens = *r.MaxTokens
	}
	return p
}

func textPayload(_ *toolNames, call *sdk.RemoteCall) (json.RawMessage, error) {
	var value sdk.TextCompleteValue
	if err := json.Unmarshal(call.Value, &value); err != nil {
		return nil, err
	}
	return json.Marshal(completionResponse{completionMessage{sdk.RoleAssistant, value.Text}})
}

func textChanges(_ *sdk.RemoteCall, a, b *completionResponse) ([]sdk.Change, error) {
	return changeText("/text", a.Message.Content, b.Message.Content)
}
