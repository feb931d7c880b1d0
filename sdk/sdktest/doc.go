// Package sdktest runs a plugin in a test as the host would: it is a host that keeps what a plugin asks of it and answers as the
// test says.
//
//	func TestRedacts(t *testing.T) {
//		h := sdktest.Start(t, plugin(), sdktest.Options{Options: json.RawMessage(`{"words": ["hunter2"]}`)})
//		v := &sdk.TextCompleteValue{Text: "the password is hunter2"}
//		if _, err := h.Fire(t.Context(), sdk.PointTextComplete, &sdk.TextCompleteInput{}, v); err != nil {
//			t.Fatal(err)
//		}
//		…
//	}
//
// A hook is called as a hook outside of the host's process is: it gets the fields it declared in Reads, and of what it changed only
// the fields it declared in Writes count. A plugin that works here works over every carrier.
//
// Not done here: several plugins at one point, what happens after a failure (Fire returns it), quarantine, and the check of a tool's
// arguments against its schema. "tenon plugin test" runs whole turns.
//
// # Recordings
//
// Fire keeps each call as a Record. Records are stored as lines of JSON; Replay runs them again, against a changed plugin or over
// another carrier, and says what came out differently.
package sdktest
