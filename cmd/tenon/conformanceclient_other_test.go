//go:build !linux

package main

// conformanceClient needs a pseudo terminal, which the tests open on Linux alone.
func conformanceClient() {}
