//go:build race

package rewrite_test

// share is which part of the modules is run: the race detector makes wazero about ten times slower, and .ci/run tests this package
// without it, too.
const share = 8
