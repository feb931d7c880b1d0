//go:build race

package web_test

// raceShare divides the size of hostile pages: the race detector makes converting one about thirty times slower, and .ci/run tests this package
// without it, too.
const raceShare = 16
