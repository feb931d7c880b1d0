package jsonline_test

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/tenonhq/tenon/internal/jsonline"
)

// FuzzDecode checks that the fields of a decoded message are those that encoding/json finds under their exact names.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":7,"method":"hook","params":{"a":[1,"\u00e9"]},"method":"tool"}`))
	f.Add([]byte(` {"result" : null, "id":18446744073709551615,"jsonrpc":"2.0"} `))
	f.Add([]byte(`{"id":-1,"ID":2,"method":"\ud800","error":{"code":1},"x":1}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"ID":2,"error":{"code":1,"message":"m","data":[]},"x":{"y":1}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := jsonline.Decode(line)
		if err != nil {
			return
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatalf("Decode accepts %q: %v", line, err)
		}
		var method string
		_ = json.Unmarshal(want["method"], &method) // none
		if id, _ := strconv.ParseUint(string(want["id"]), 10, 64); m.ID != id || m.Method != method {
			t.Errorf("%q: id %d, method %q", line, m.ID, m.Method)
		}
		if string(m.Params) != string(want["params"]) || string(m.Result) != string(want["result"]) {
			t.Errorf("%q: params %s, result %s", line, m.Params, m.Result)
		}
	})
}
