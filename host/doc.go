// Package host is the core: it runs the loop prompt → model → tools → answer over a durable session and
// calls plugins at the hook points. It knows no plugin, no provider and no tool by name.
//
// # The picture
//
//	Prompt ─► runner (one per busy session, runner.go)
//	            └─ turn (turn.go): the state machine of machine.go
//	                 Prepare   prompt.go      ─► chat.message
//	                 Request   request.go     ─► tool.definition, chat.messages.transform, chat.system.transform, chat.params, chat.headers
//	                 Stream    stream.go      parts stored as they come ─► text.complete
//	                 Tools     toolcall.go    ─► tool.execute.before, permission.ask, tool.execute.after
//	                 Decide    machine.go     next step, compact, done
//	                 Stop      turn.go        ─► turn.stop
//	                                │
//	journal (journal.go) ◄──────────┘ every change: first durable, then on the bus (bus.go) ─► event
//
// Plugins that stay outside of this picture ask for things through the host they were started with (pluginhost.go): a visit
// (visit.go) sees the turn as it was last shown, and a tool call it makes (plugincall.go) takes the way of the model's. Contributions
// of plugins that are not built in are asked for under a guard (guard.go). Plugins are frozen in a generation (generation.go), which
// a reload (reload.go) replaces between turns. Tools that a request has no room for hide behind one that finds them (toolsearch.go).
//
// What a subscriber was told is in the store: a change is published after it is durable, streamed text
// included.
package host
