// Package input turns the text and attachments of a user into the parts of a message.
//
//	Prompt (prompt.go) ─► Expand (command.go, template.go): a command's template with its arguments, shell commands run (shell.go)
//	     ─► Resolver.Parts (resolve.go): @file and @dir/ (attach.go), @agent; other @names by plugins (reference.go)
package input
