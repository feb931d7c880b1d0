// Package live holds a claimed session in memory and makes its changes durable.
//
//	Conversation (conversation.go) ─► Journal (journal.go) ─► store.Store, then ─► Bus (bus.go) ─► subscribers
//
// A change is published after it is durable, streamed text included, so subscribers see only stored changes. timeline.go selects the messages
// that the model gets; part.go closes open parts; ids.go makes identifiers.
package live
