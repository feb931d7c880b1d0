// Package host is the core: it runs the loop prompt → model → tools → answer over a durable session and
// calls plugins at the hook points. It knows no plugin, no provider and no tool by name.
//
// # The picture
//
//	Prompt ─► runner (one per busy session, runner.go)
//	            └─ turn.loop (loop.go), one function:
//	                 prepare   prompt.go, setup made once; host/input   ─► chat.message
//	                 ask       step.go; host/ask, host/tools            ─► tool.definition, chat.*, text.complete
//	                 runTools  toolcall.go, permit.go                   ─► tool.execute.before, permission.ask, tool.execute.after
//	                 decide    loop.go                                  next step, compaction, a prompt that waits, the end
//	                 compact   compaction.go; host/compact              ─► session.compacting
//	                 mayStop   loop.go                                  ─► turn.stop
//	            └─ finish (end.go): nothing stays open, callers that wait get the answer
//	                                │
//	host/live ◄─────────────────────┘ every change: first durable, then on the bus ─► event
//
// callhost.go is the host as a tool call sees it, visit.go as a plugin sees the running turn. control.go has what is done to a session without a
// prompt: revert, compaction. subtask.go and template.go prompt and call on the way to a prompt's answer.
//
// A subscriber never sees a change that is not in the store: a change is published after it is durable, streamed text
// included.
package host
