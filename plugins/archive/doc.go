// Package archive reads plugins from untrusted archives and git trees. It checks the whole archive before it writes anything, and
// refuses archives that two programs could read differently.
package archive
