// Package terminal is the user's terminal as commands use it: a screen with live lines at the bottom, input a piece at a time, and
// text that cannot control it.
package terminal
