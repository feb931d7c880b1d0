//go:build !unix

package openai_test

// cpu is not measured here.
func cpu() int64 { return 0 }
