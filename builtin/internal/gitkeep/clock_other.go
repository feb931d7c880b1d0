//go:build !linux

package gitkeep

import "time"

func clock() time.Time { return time.Now() }
