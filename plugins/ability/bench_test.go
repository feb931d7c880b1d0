package ability_test

import (
	"testing"

	"github.com/tenonhq/tenon/plugins/ability"
)

func BenchmarkDo(b *testing.B) {
	o := kvOptions(b.TempDir())
	o.Limits.Rate, o.Limits.Burst = 1e9, 1e9
	broker := newBroker(b, o)
	want(b, broker, "kv.set", `{"key":"a","value":"some text that is kept"}`, "")
	for op, c := range map[string]struct {
		request string
		status  ability.Status
	}{
		"kv.get": {`{"key":"a"}`, ability.OK},
		"kv.set": {`{"key":"a","value":"some text that is kept"}`, ability.OK},
		"secret": {`{"name":"TOKEN"}`, ability.Denied},
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
