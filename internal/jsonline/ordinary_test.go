package jsonline

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzOrdinary checks that ordinary decodes what it accepts as encoding/json does.
func FuzzOrdinary(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":7,"method":"hook","params":{"a":[1,"\u00e9"]},"method":"tool"}`))
	f.Add([]byte(` {"result" : null, "id":18446744073709551615,"jsonrpc":"2.0"} `))
	f.Add([]byte(`{"id":-1,"ID":2,"method":"\ud800","error":{"code":1},"x":1}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		got, ok := ordinary(bytes.Clone(line))
		if !ok {
			return
		}
		var want fields
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatalf("ordinary accepts %q: %v", line, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", line, diff)
		}
	})
}
