// Package host is the core: it runs the loop prompt → model → tools → answer over a durable session and
// calls plugins at the hook points. It knows no plugin, no provider and no tool by name.
//
// # Overview
//
//	Prompt ─► runner (one per busy session, runner.go)
//	            └─ turn.run (loop.go), once per turn
//	               ├─ loop, one function:
//	               │    prepare   prompt.go; host/input            ─► chat.message
//	               │    ask       step.go; host/ask, host/tools    ─► tool.definition, chat.*, text.complete
//	               │    runTools  toolcall.go, permit.go           ─► tool.execute.before, permission.ask, tool.execute.after
//	               │    decide    loop.go                          next step, compaction, a waiting prompt, the end
//	               │    compact   compaction.go; host/compact      ─► session.compacting
//	               │    mayStop   loop.go                          ─► turn.stop
//	               └─ finish (end.go): closes open parts, replies to waiting callers
//	                                │
//	host/live ◄─────────────────────┘ every change: first durable, then on the bus ─► event
//
// A turn (loop.go) embeds the step under way (step.go), a step its prompt (prompt.go), and a prompt its ask.Setup: t.Model is the prompt's model.
//
// callhost.go is the host as one tool call sees it; visit.go the running turn as a plugin sees it. control.go changes a session without a
// prompt: revert, compaction, title. subtask.go runs subagents, template.go the shell commands in a prompt's template.
//
// A subscriber never sees a change that is not in the store: a change is published after it is durable, streamed text
// included.
package host
