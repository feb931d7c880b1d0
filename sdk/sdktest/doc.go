// Package sdktest runs a plugin in a test: its host records the plugin's requests and returns the answers that the test sets.
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
// Hooks are called as over a carrier: a hook receives the fields in Reads, and only its changes to fields in Writes count. A plugin that
// works here works over every carrier.
//
// Not done here: several plugins at one point, what happens after a failure (Fire returns it), quarantine, and the check of a tool's
// arguments against its schema. "tenon plugin test" runs whole turns.
//
// # Recordings
//
// Fire keeps each call as a Record. Records are stored as lines of JSON; Replay runs them again, against a changed plugin or over
// another carrier, and says what came out differently.
package sdktest
