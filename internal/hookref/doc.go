// Package hookref derives two files from the table of hook points and the sources of sdk, so that they cannot differ: the hook reference of the
// user guide, docs/hooks.md, and the names of the points for the conformance plugins in other languages. It consists of tests.
package hookref
