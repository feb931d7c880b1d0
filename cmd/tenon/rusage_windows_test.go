package main_test

import "os"

// peakMemory returns 0: a process that ended does not tell.
func peakMemory(*os.ProcessState) int64 { return 0 }
