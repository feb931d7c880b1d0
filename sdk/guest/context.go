package guest

import "context"

// Detached returns a context that never ends, for calls that the host bounds by other means.
func Detached() context.Context { return context.Background() }

// tokenKey is the key of the token of a call in its context.
type tokenKey struct{}

// WithToken returns the context of a call that the host identifies by the token.
func WithToken(ctx context.Context, token string) context.Context {
	return context.WithValue(ctx, tokenKey{}, token)
}

// TokenOf returns the token of the call; empty without a call.
func TokenOf(ctx context.Context) string {
	token, _ := ctx.Value(tokenKey{}).(string)
	return token
}
