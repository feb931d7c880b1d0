// Package chat is the interactive chat, "tenon chat": a line editor, commands that begin with a slash, and one turn after
// another. "tenon run --watch" uses it for lines of stdin.
package chat
