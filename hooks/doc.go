// Package hooks is the engine that calls plugins at hook points. It knows the sdk and nothing else: not
// how plugins are loaded, and not what the host does at a point.
//
//	Engine (engine.go): one frozen generation; the order is made in order.go
//	   │ Transform ── hook ── hook ── hook     transform.go: each hook sees the changes of the one before
//	   │ Gate ─────── gate, gate, gate         gate.go: all are called, the strictest verdict counts
//	   └ Observe ──── queue of each observer   observe.go: called in order, in the background
//
// Transform and Gate walk along the hooks of a point (walk.go). Each call of a hook (call.go) runs under its deadline (deadline.go). A panic
// ends only the call, the answer is checked before it counts, and the hook's failure policy decides what a failure does. Three failures in
// a row quarantine the plugin (quarantine.go); errors for which the plugin is not at fault (Blameless) do not count.
//
// A hook works on a copy. The engine finds its changes, drops changes of fields that the hook did not declare in Writes, applies the others and
// writes them to the ledger (ledger.go). Hooks in this process and hooks behind a carrier leave the same entries.
package hooks
