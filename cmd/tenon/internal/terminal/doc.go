// Package terminal gives commands access to the user's terminal: a screen with live lines at the bottom, input in pieces, and safe
// text.
package terminal
