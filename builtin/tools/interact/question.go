package interact

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/builtin/internal/tool"
	"github.com/tenonhq/tenon/sdk"
)

type questionArgs struct {
	Questions []sdk.Question `json:"questions"`
}

// question asks the user.
func question() sdk.Tool {
	return tool.Spec[questionArgs]{ID: "question", Texts: texts, Run: askUser}.Tool()
}

// askUser asks and waits for the answers.
func askUser(ctx context.Context, call *sdk.ToolCall, args questionArgs) (*sdk.ToolResult, error) {
	asker, err := ability[sdk.Questioner](call, "sdk.Questioner")
	if err != nil {
		return nil, err
	}
	answers, err := asker.Question(ctx, args.Questions)
	if errors.Is(err, sdk.ErrHeadless) {
		return nil, fmt.Errorf("question: no user to ask, the run is not interactive (%w). Decide yourself, choose the safest option, and state your assumptions in your answer", err)
	}
	if err != nil {
		return nil, fmt.Errorf("question: %w", err)
	}
	var out strings.Builder
	for i, q := range args.Questions {
		answer := "not answered"
		if i < len(answers) && len(answers[i]) > 0 {
			answer = strings.Join(answers[i], ", ")
		}
		fmt.Fprintf(&out, "%s\n-> %s\n", q.Question, answer)
	}
	return &sdk.ToolResult{
		Title:    fmt.Sprintf("%d answered", len(answers)),
		Output:   "The user answered:\n" + strings.TrimSpace(out.String()),
		Metadata: sdk.Object{"answers": answers},
	}, nil
}
