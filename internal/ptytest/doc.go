// Package ptytest opens pseudo terminals on Linux and reads the screen of a terminal emulator. Tests and measurements use it; tenon does not.
package ptytest
