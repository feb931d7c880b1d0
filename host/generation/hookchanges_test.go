package generation

import (
	"encoding/json"
	"testing"

	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
)

// TestMessageRemoved: a hook that may write the whole value of chat.message, and answers with one without a message, is refused.
func TestMessageRemoved(t *testing.T) {
	t.Parallel()
	for _, whole := range []string{"null", "{}"} {
		before, after := &sdk.ChatMessageValue{Message: &sdk.UserMessage{}}, &sdk.ChatMessageValue{Message: &sdk.UserMessage{}}
		if err := value.Apply(after, []sdk.Change{{Value: json.RawMessage(whole)}}); err != nil {
			t.Fatal(err)
		}
		if err := checkHookChanges(&sdk.Hook{Point: sdk.PointChatMessage}, before, after); err == nil {
			t.Errorf("%s: the value without a message is accepted", whole)
		}
	}
}
