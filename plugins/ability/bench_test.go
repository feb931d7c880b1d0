package ability_test

import (
	"testing"

	"github.com/tenonhq/tenon/plugins/ability"
	"github.com/tenonhq/tenon/sdk/guest"
)

func BenchmarkDo(b *testing.B) {
	o := kvOptions(b.TempDir())
	o.Limits.Rate, o.Limits.Burst = 1e9, 1e9
	broker := newBroker(b, o)
	want(b, broker, "kv.set", `{"key":"a","value":"some text that is kept"}`, "")
	for op, c := range map[string]struct {
		request string
		status  guest.Status
	}{
		"kv.get": {`{"key":"a"}`, guest.StatusOK},
		"kv.set": {`{"key":"a","value":"some text that is kept"}`, guest.StatusOK},
		"secret": {`{"name":"TOKEN"}`, guest.StatusDenied},
	} {
		b.Run(op+"/"+c.status.String(), func(b *testing.B) {
			request := []byte(c.request)
			b.ReportAllocs()
			for b.Loop() {
				if status, answer := broker.Do(b.Context(), ability.Caller{}, op, request); status != c.status {
					b.Fatal(status, string(answer))
				}
			}
		})
	}
}
