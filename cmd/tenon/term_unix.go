//go:build unix

package main

// enableEscapes makes the terminal understand escape sequences, as those of Unix do.
func enableEscapes(int) bool { return true }
