package tools

import (
	"context"
	"strings"
)

// callKey is the key of the tool calls that a context belongs to: their identifiers from the outermost in, joined by "/".
type callKey struct{}

// MaxCallDepth is how deep tool calls may nest: a plugin calls a tool whose plugin calls a tool, and so on.
const MaxCallDepth = 8

// InCall returns the context of a call.
func InCall(ctx context.Context, callID string) context.Context {
	path := callID
	if outer, ok := ctx.Value(callKey{}).(string); ok {
		path = outer + "/" + path
	}
	return context.WithValue(ctx, callKey{}, path)
}

// CallDepth returns how many tool calls ctx is inside of.
func CallDepth(ctx context.Context) int {
	path, ok := ctx.Value(callKey{}).(string)
	if !ok {
		return 0
	}
	return strings.Count(path, "/") + 1
}
