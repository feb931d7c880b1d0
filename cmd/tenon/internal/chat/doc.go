// Package chat is the interactive chat, "tenon chat": lines from stdin, commands that begin with a slash, and one turn after
// another. "tenon run --watch" uses it for lines of stdin.
package chat
