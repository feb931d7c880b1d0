// Package view shows a turn as text or as JSON lines, and lays out what commands print: messages, tool calls, tables.
package view
