package tools

import "context"

// callKey is the key of the number of tool calls that a context belongs to.
type callKey struct{}

// MaxCallDepth is how deep tool calls may nest: a plugin calls a tool whose plugin calls a tool, and so on.
const MaxCallDepth = 8

// InCall returns the context of a call.
func InCall(ctx context.Context) context.Context {
	return context.WithValue(ctx, callKey{}, CallDepth(ctx)+1)
}

// CallDepth returns how many tool calls ctx is inside of.
func CallDepth(ctx context.Context) int {
	depth, _ := ctx.Value(callKey{}).(int)
	return depth
}
