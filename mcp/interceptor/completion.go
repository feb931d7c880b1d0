package interceptor

import (
	"fmt"

	"github.com/tenonhq/tenon/sdk"
)

// This file maps model requests to the event llm/completion. The event occurs at three hook points, each with a part of the
// request: the system prompt, the messages and the parameters.

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

// completionInput is the part of sdk.ChatInput that is sent.
type completionInput struct {
	Model struct {
		ID         string `json:"id"`
		ProviderID string `json:"providerID"`
	} `json:"model"`
	Purpose string `json:"purpose"`
	Agent   string `json:"agent"`
}

func (in *completionInput) request() *completionRequest {
	return &completionRequest{
		Model: in.Model.ProviderID + "/" + in.Model.ID, Metadata: map[string]string{"purpose": in.Purpose, "agent": in.Agent},
	}
}

func systemPayload(_ *sdk.RemoteCall, in *completionInput, v *sdk.ChatSystemValue) *completionRequest {
	r := in.request()
	for _, text := range v.System {
		r.Messages = append(r.Messages, completionMessage{"system", text})
	}
	return r
}

func setSystem(_ *completionInput, v *sdk.ChatSystemValue, r *completionRequest) error {
	v.System = make([]string, len(r.Messages))
	for i, m := range r.Messages {
		v.System[i] = m.Content
	}
	return nil
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

// texts calls f for each text with its role.
func (s *sentMessages) texts(f func(role string, text *string)) {
	for _, m := range s.Messages {
		for _, p := range m.Parts {
			if p.Text != nil {
				f(m.Info.Role, p.Text)
			}
			if p.State != nil && p.State.Output != nil {
				f("tool", p.State.Output)
			}
		}
	}
}

func messagesPayload(_ *sdk.RemoteCall, in *completionInput, v *sentMessages) *completionRequest {
	r := in.request()
	v.texts(func(role string, text *string) { r.Messages = append(r.Messages, completionMessage{role, *text}) })
	return r
}

func setMessages(_ *completionInput, v *sentMessages, r *completionRequest) error {
	n := 0
	v.texts(func(_ string, text *string) {
		if n < len(r.Messages) {
			*text = r.Messages[n].Content
		}
		n++
	})
	if n != len(r.Messages) {
		return fmt.Errorf("%d messages instead of %d: the number of messages must not change", len(r.Messages), n)
	}
	return nil
}

func paramsPayload(_ *sdk.RemoteCall, in *completionInput, v *sdk.ChatParams) *completionRequest {
	r := in.request()
	r.Temperature, r.TopP = v.Temperature, v.TopP
	if v.MaxOutputTokens != 0 {
		r.MaxTokens = &v.MaxOutputTokens
	}
	return r
}

func setParams(_ *completionInput, v *sdk.ChatParams, r *completionRequest) error {
	v.Temperature, v.TopP, v.MaxOutputTokens = r.Temperature, r.TopP, 0
	if r.MaxTokens != nil {
		v.MaxOutputTokens = *r.MaxTokens
	}
	return nil
}

func textPayload(_ *sdk.RemoteCall, _ *struct{}, v *sdk.TextCompleteValue) *completionResponse {
	return &completionResponse{completionMessage{sdk.RoleAssistant, v.Text}}
}

func setText(_ *struct{}, v *sdk.TextCompleteValue, r *completionResponse) error {
	v.Text = r.Message.Content
	return nil
}
