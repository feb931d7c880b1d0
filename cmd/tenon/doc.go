// Command tenon runs a coding agent. It is the only package that knows all others: it puts the plugins in order, starts the
// host, and connects the commands, which are in packages below internal:
//
//	terminal    the user's terminal: screen, keyboard, text that is safe to print
//	view        a turn as text or JSON lines; messages, tables
//	cli         shared by all commands: streams, flags, directories, configuration, store, errors with remedies, exit codes
//	extensions  plugins, MCP servers and command hooks, and what the user approved
//	turn        one turn: prompt, session, events, questions, interrupts
//	chat        tenon chat
//	sessions    tenon session
//	inspect     tenon stats, doctor, explain, hooks, models, config, agent, command, skill, version
//	manage      tenon plugin, mcp, permission, import
//
// Each imports only those above it. This package holds the rest:
//
//	main.go, app.go     the process, the list of commands
//	run.go              tenon run
//	wire.go             the store, plugins and host of a command
//	approval.go         extensions at the start of a host, and their reload
//	permissiontrust.go, commandtrust.go, receivers.go  what files of a repository may decide
//
// stdout carries the answer or JSON lines, stderr everything else.
package main
