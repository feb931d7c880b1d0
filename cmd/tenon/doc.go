// Command tenon runs a coding agent. It is the only package that knows all others: it reads flags and
// configuration, puts the plugins into their order (wire.go), starts the host and shows what happens.
//
// Files, in the order a run passes them:
//
//	main.go, app.go      process, global flags, commands
//	wire.go, project.go  configuration, store, plugins and host; where the project is
//	run.go, prompt.go    flags and prompt of a run
//	conversation.go      turns one after another: chat.go and watch.go; where their prompts come from is chatinput.go
//	turnloop.go          events to the view, questions to the user, interrupts to the host
//	textview.go, jsonview.go, asker.go, keyboard.go  what the user sees, is asked and types
//	exit.go, remedy.go   errors: cause, remedy, exit code
//
// stdout carries the answer or JSON lines, stderr everything else.
package main
