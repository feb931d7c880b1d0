//go:build unix && !linux

package main

import (
	"context"
	"errors"
)

// screens needs pseudo terminals and /proc of Linux.
func (*bench) screens(context.Context) { check(errors.New("screens can be measured on Linux only")) }
