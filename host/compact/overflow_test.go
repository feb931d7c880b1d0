package compact

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/host/model"
	"github.com/tenonhq/tenon/internal/fakellm"
	"github.com/tenonhq/tenon/sdk"
)

// TestClassifyKnowsHowServersSayTooLong asks a server for the answer of each well-known one to a prompt that
// is too long.
func TestClassifyKnowsHowServersSayTooLong(t *testing.T) {
	t.Parallel()
	for name, reply := range fakellm.Overflows() {
		srv := fakellm.New(t, reply)
		resp, err := http.Post(srv.URL()+"/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[]}`))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
		if got := model.Classify(&sdk.ProviderError{StatusCode: resp.StatusCode, Body: string(body)}); got != model.ClassOverflow {
			t.Errorf("%s: status %d, %s: class %d, want %d", name, resp.StatusCode, body, got, model.ClassOverflow)
		}
	}
}

// TestRoomForTheConversation: a model whose output limit is its whole context, as that of many local ones, has room for a conversation.
func TestRoomForTheConversation(t *testing.T) {
	t.Parallel()
	for limit, most := range map[sdk.ModelLimit]int64{
		{Context: 32_768, Output: 32_768}:   16_384,
		{Context: 8192, Output: 8192}:       4096,
		{Context: 32_768, Output: 4096}:     28_672,
		{Context: 200_000, Output: 64_000}:  168_000,
		{Context: 131_072, Output: 131_072}: 99_072,
		{Context: 32_768}:                   24_576,
	} {
		m := &sdk.Model{Limit: limit}
		if Overflows(m, sdk.CompactionConfig{}, most-1) || !Overflows(m, sdk.CompactionConfig{}, most) {
			t.Errorf("%+v: the conversation can take %d tokens, want %d", limit, usableTokens(m, sdk.CompactionConfig{}), most)
		}
		if answer := model.OutputLimit(m); answer+most > limit.Context {
			t.Errorf("%+v: %d tokens and an answer of %d do not fit", limit, most, answer)
		}
	}
}

// counted returns a conversation whose latest finished step took so many tokens, with what was added to it and after it.
func counted(tokens int64, results ...string) []sdk.MessageWithParts {
	m := &sdk.AssistantMessage{Tokens: sdk.Tokens{Input: tokens}}
	m.Time.Completed = 1
	step := sdk.MessageWithParts{Info: m}
	for _, text := range results {
		step.Parts = append(step.Parts, &sdk.ToolPart{State: sdk.ToolState{Output: text}})
	}
	return []sdk.MessageWithParts{{Info: &sdk.UserMessage{}}, step}
}

// TestNextRequest: the next request is larger than the last by the results of its tool calls and by new prompts.
func TestNextRequest(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("abcd", 100)
	prompt := sdk.MessageWithParts{Info: &sdk.UserMessage{}, Parts: sdk.Parts{&sdk.TextPart{Text: text}}}
	summary := &sdk.AssistantMessage{Summary: true, Tokens: sdk.Tokens{Input: 7000}}
	summary.Time.Completed = 1
	for name, c := range map[string]struct {
		messages []sdk.MessageWithParts
		want     int64
	}{
		"no step":         {[]sdk.MessageWithParts{prompt}, 0},
		"a step":          {append([]sdk.MessageWithParts{prompt}, counted(1000)...), 1000},
		"with results":    {counted(1000, text, text), 1200},
		"and a prompt":    {append(counted(1000, text), prompt), 1100 + 100},
		"after a summary": {append(counted(1000, text), sdk.MessageWithParts{Info: summary}, prompt), 0},
	} {
		if got := NextTokens(c.messages); got != c.want {
			t.Errorf("%s: %d tokens, want %d", name, got, c.want)
		}
	}
}
