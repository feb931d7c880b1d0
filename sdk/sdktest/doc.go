// Package sdktest runs a plugin in a test. Its host records the plugin's requests and returns the answers that the test sets.
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
// Hooks are called as over a carrier: a hook receives only the fields in Reads, and only its changes to fields in Writes take effect. A plugin
// that works here works over every carrier.
//
// The package does not run several plugins at one point, apply failure policies (Fire returns the error), quarantine plugins, or check the
// arguments of a tool against its schema. "tenon plugin test" runs whole turns.
//
// # Recordings
//
// Fire keeps each call as a Record. Records can be stored as lines of JSON. Replay runs them again, with a changed plugin or over another carrier,
// and returns the differences.
package sdktest
