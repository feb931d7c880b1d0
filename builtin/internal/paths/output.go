package paths

import (
	"context"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// OutputPrefix marks a path in the arguments of the tools read and grep that names a stored tool output instead of a file.
const OutputPrefix = "tool-output/"

// Output returns a stored tool output with breaks in long lines: only by their lines can read and grep reach all parts of it. A call needs no
// permission for it: the session itself produced it.
func Output(ctx context.Context, call *sdk.ToolCall, path string) (string, error) {
	reader, ok := call.Host.(sdk.OutputReader)
	if !ok {
		return "", fmt.Errorf("%s: this host does not store tool outputs (sdk.OutputReader)", path)
	}
	output, err := reader.Output(ctx, strings.TrimPrefix(path, OutputPrefix))
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return visible.Fold(string(output)), nil
}
