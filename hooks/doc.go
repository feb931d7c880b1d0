// Package hooks is the engine that calls plugins at hook points. It knows the sdk and nothing else: not
// how plugins are loaded, and not what the host does at a point.
//
//	Engine (one frozen generation)
//	   │ Transform ── hook ── hook ── hook     each sees what the one before it left
//	   │ Gate ─────── gate, gate, gate         all are asked, the strictest verdict holds
//	   └ Observe ──── queue of each observer   called in order, in the background
//
// Every call is guarded: it has a deadline, a panic ends nothing but the call, what it answers is checked
// before it counts, and what went wrong is handled by the hook's failure policy. Three failures in a row
// quarantine the plugin; that it was not ready yet (ErrNotReady) is none of them.
//
// A hook works on a copy. The engine finds what it changed, drops what the hook did not declare in
// Writes, applies the rest and writes it to the ledger; hooks in this process and hooks behind a carrier
// go the same way and leave the same entries.
package hooks
