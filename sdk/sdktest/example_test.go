package sdktest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/sdktest"
)

// A plugin that takes words out of the model's text, as an author would test it. In a test, sdktest.Start does what New, Start and
// Close do here.
func Example() {
	var words []string
	redact := &sdk.Bundle{
		Info: sdk.Manifest{Name: "redact", Carrier: sdk.CarrierBuiltin},
		OnStart: func(_ context.Context, h sdk.Host) error {
			var options struct{ Words []string }
			err := json.Unmarshal(h.Options(), &options)
			words = options.Words
			return err
		},
		HookList: []sdk.Hook{sdk.OnTextComplete(func(_ context.Context, _ *sdk.TextCompleteInput, v *sdk.TextCompleteValue) error {
			for _, w := range words {
				v.Text = strings.ReplaceAll(v.Text, w, "***")
			}
			return nil
		})},
	}
	ctx := context.Background()
	h := sdktest.New(redact, sdktest.Options{Options: json.RawMessage(`{"words": ["hunter2"]}`)})
	if err := h.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	v := &sdk.TextCompleteValue{Text: "the password is hunter2"}
	answer, err := h.Fire(ctx, sdk.PointTextComplete, &sdk.TextCompleteInput{}, v)
	fmt.Println(v.Text, err)
	fmt.Println(answer.Changes[0].Pointer)

	// The fired hooks are a recording. Played back to a changed plugin, it shows the differences.
	words = nil
	differences, err := sdktest.Replay(ctx, redact, h.Records())
	fmt.Println(differences[0], err)
	// Output:
	// the password is *** <nil>
	// /text
	// record 1: text.complete: /text: recorded "the password is ***", now "the password is hunter2" <nil>
}
