// Package hookref writes the hook reference of the user guide, docs/hooks.md, from the table of hook points and the sources of sdk, so
// that they cannot differ. It consists of tests.
package hookref
