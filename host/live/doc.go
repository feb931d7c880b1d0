// Package live holds a claimed session in memory and makes its changes durable.
//
//	Conversation (conversation.go) ─► Journal (journal.go) ─► store.Store, then ─► Bus (bus.go) ─► subscribers
//
// A change is published after it is durable, streamed text included: what a subscriber has seen is in the store. timeline.go says which
// messages of a conversation count, part.go how parts that are open are closed.
package live
