// Package lazyregexp compiles regular expressions when they are first used: a start of tenon uses few of them, and each
// takes up to 80 KB.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns a function that compiles the expression once, at its first call. It panics then if the expression is malformed.
func New(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
