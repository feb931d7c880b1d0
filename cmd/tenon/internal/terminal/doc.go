// Package terminal is what the command needs of the user's terminal: a screen with live lines at the bottom, input a piece at a
// time, raw mode, and text that cannot control it.
package terminal
