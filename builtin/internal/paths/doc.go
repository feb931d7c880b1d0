// Package paths resolves the path arguments of tool calls against the
// session's directory, shortens them for display and for permission patterns, and reports which of them
// leave the project.
//
// It compares real paths with the project: all symbolic links are resolved first, even if the last component does not exist.
package paths
