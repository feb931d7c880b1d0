package process_test

import "errors"

const hostRole = "TENON_TEST_HOST"

func hold() {}

func beHost(string) {}

func ignoreTerminate() {}

func startChild() (string, error) { return "", errors.ErrUnsupported }

func descriptors() (string, error) { return "", errors.ErrUnsupported }
