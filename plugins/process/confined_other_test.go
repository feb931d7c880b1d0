//go:build !linux

package process_test

const confinedHost = "TENON_TEST_CONFINED_HOST"

func hostConfined(string) {}
