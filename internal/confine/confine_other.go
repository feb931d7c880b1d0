//go:build !linux

package confine

import (
	"fmt"
	"runtime"
)

// Supported returns an error that wraps [ErrUnsupported].
func Supported() (abi int, err error) {
	return 0, fmt.Errorf("%w on %s", ErrUnsupported, runtime.GOOS)
}

// System returns nothing.
func System() []string { return nil }

// Expend does nothing.
func Expend(int) {}

// Devices returns nothing.
func Devices() []string { return nil }

// Ruleset is never built on this system.
type Ruleset struct{}

// New fails with [ErrUnsupported].
func New(Policy) (*Ruleset, error) {
	_, err := Supported()
	return nil, err
}

// Do fails with [ErrUnsupported] and starts nothing.
func (*Ruleset) Do(func() error) error {
	_, err := Supported()
	return err
}

// Stale returns false.
func (*Ruleset) Stale() bool { return false }

// Close does nothing.
func (*Ruleset) Close() error { return nil }
