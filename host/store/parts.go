package store

import (
	"iter"

	"github.com/tenonhq/tenon/sdk"
)

// PartsOf yields the parts of one type in messages, in order.
func PartsOf[P sdk.Part](messages ...sdk.MessageWithParts) iter.Seq[P] {
	return func(yield func(P) bool) {
		for _, m := range messages {
			for _, part := range m.Parts {
				if p, ok := part.(P); ok && !yield(p) {
					return
				}
			}
		}
	}
}
