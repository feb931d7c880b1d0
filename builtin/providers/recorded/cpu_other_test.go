//go:build !unix

package recorded_test

// cpu is not measured here.
func cpu() int64 { return 0 }
