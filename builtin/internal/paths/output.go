package paths

import (
	"context"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

// OutputPrefix marks a path in the arguments of the tools read and grep that names a stored tool output instead of a file.
const OutputPrefix = "tool-output/"

// Output returns a stored tool output. A call needs no permission for it: the session itself produced it.
func Output(ctx context.Context, call *sdk.ToolCall, path string) ([]byte, error) {
	reader, ok := call.Host.(sdk.OutputReader)
	if !ok {
		return nil, fmt.Errorf("%s: this host does not store tool outputs (sdk.OutputReader)", path)
	}
	output, err := reader.Output(ctx, strings.TrimPrefix(path, OutputPrefix))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return output, nil
}
