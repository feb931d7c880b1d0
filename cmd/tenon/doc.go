// Command tenon runs a coding agent. It is the only package that knows all others: it orders the plugins, starts the host, and
// connects the commands, which are in packages below internal:
//
//	terminal    the user's terminal: screen, keyboard, text that is safe to print
//	view        a turn as text or JSON lines; messages, tables
//	extensions  plugins, MCP servers and command hooks, and their approvals
//	cli         shared by all commands: streams, flags, directories, configuration, store, errors with remedies, exit codes
//	inspect     tenon stats, doctor, explain, hooks, models, config, agent, command, skill, version
//	manage      tenon plugin, mcp, auth, permission, import
//	install     the commands of tenon plugin that install, update, publish and remove
//	frontend    the interface between a host and its user interfaces
//	turn        one turn: prompt, session, events, questions, interrupts
//	sessions    tenon session
//	chat        tenon chat
//	tui         the full-screen terminal UI
//
// Each imports only those above it. This package holds the rest:
//
//	main.go, app.go     the process, the list of commands
//	run.go              tenon run
//	wire.go             the store, plugins and host of a command
//	approval.go         extensions at the start of a host, and their reload
//	trust.go            trust in the files of a repository; tenon permission approve
//	help.go, complete.go  help, manual pages, shell completion
//
// stdout carries the answer or JSON lines, stderr everything else.
package main
