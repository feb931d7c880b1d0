// Package view shows a turn as text or as JSON lines, and lays out the output of commands: messages, tool calls, tables.
package view
