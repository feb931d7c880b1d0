// Package hooks is the engine that calls plugins at hook points. It knows neither how plugins are loaded nor what the host does at a point.
//
//	Engine (engine.go): one frozen generation; bind.go checks the hooks, order.go sorts them
//	   │ Transform ── hook ── hook ── hook     transform.go: each hook sees the changes of the one before
//	   │ Gate ─────── gate, gate, gate         gate.go: all are called, the strictest verdict counts
//	   └ Observe ──── queue of each observer   observe.go: called in order, in the background
//
// Transform and Gate walk along the hooks of a point (walk.go). Each call of a hook (call.go) runs under its deadline (deadline.go). A panic
// ends only the call, the answer is checked before it counts, and the hook's failure policy decides what a failure does (walk.applyPolicy). Each
// failure is counted and reported to the user, and three in a row quarantine the plugin (Engine.blame, quarantine.go); errors for which the
// plugin is not at fault (Blameless) do not count.
//
// A hook works on a copy. The engine finds its changes, drops changes of fields that the hook did not declare in Writes, applies the others and
// writes them to the ledger (ledger.go). Hooks in this process and hooks behind a carrier leave the same entries.
package hooks
