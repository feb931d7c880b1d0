// Package paths turns the path arguments of tool calls into real ones: it resolves them against the
// session's directory, shortens them for people and for permission patterns, and tells which of them
// leave the project.
//
// # What counts
//
// A path is judged by where it leads, not by how it is written: every symbolic link on the way is
// followed, also when the last component does not exist yet, before it is compared with the project.
package paths
