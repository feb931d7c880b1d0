//go:build !race

package rewrite_test

// share is which part of the modules is run: all.
const share = 1
