// Package archive reads plugins from archives and git trees of strangers. It checks the whole archive before it writes anything, and
// refuses everything that two readers could take for different files.
package archive
