// Package wire is the HTTP layer of all wire formats: it sends one request, bounds and reads its answer, and turns failures into
// *sdk.ProviderError. A wire format adds the body of a request and a Decoder of events. Its folder contains no other code.
//
// The path of a request:
//
//	format ── Body ──► Conn.Ask ──► exchange (timeouts) ──► consume (framing)
//	                                                              │ events
//	sink ◄── Answer (blocks, tool calls, finish) ◄── the format's Decoder
package wire
