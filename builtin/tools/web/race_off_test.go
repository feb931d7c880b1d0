//go:build !race

package web_test

// raceShare is 1 without the race detector, see race_on_test.go.
const raceShare = 1
