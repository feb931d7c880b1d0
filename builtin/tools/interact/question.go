package interact

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

//go:embed question.md
var questionDescription string

//go:embed question.json
var questionParameters []byte

// question asks the user.
type question struct{}

// Definition describes the tool.
func (question) Definition() sdk.ToolDefinition {
	return definition("question", questionDescription, questionParameters)
}

// Execute asks and waits for the answers.
func (question) Execute(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
	var args struct {
		Questions []sdk.Question `json:"questions"`
	}
	if err := decode(call, &args); err != nil {
		return nil, err
	}
	if len(args.Questions) == 0 {
		return nil, errors.New("question: questions is empty")
	}
	asker, ok := call.Host.(sdk.Questioner)
	if !ok {
		return nil, missing("question", "sdk.Questioner")
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
		Metadata: sdk.Object{"answers": lists(answers)},
	}, nil
}

// lists returns the answers for metadata.
func lists(answers [][]string) []any {
	out := make([]any, len(answers))
	for i, answer := range answers {
		list := make([]any, len(answer))
		for j, text := range answer {
			list[j] = text
		}
		out[i] = list
	}
	return out
}
