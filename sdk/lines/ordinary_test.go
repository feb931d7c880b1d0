package lines

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzOrdinary checks that ordinary decodes what it accepts as encoding/json does.
func FuzzOrdinary(f *testing.F) {
	f.Add([]byte(`{"hook":1,"request":{"input":{},"value":{"a":[1]}},"token":"abc","timeout_ms":2100}`))
	f.Add([]byte(` {"token":"\u00e9","request":null,"hook":-1,"hook":2} `))
	f.Add([]byte(`{"hook":1.5,"tool":1,"Token":"a","timeout_ms":99999999999999999999}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, ok := ordinary(data)
		if !ok {
			return
		}
		var want params
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatalf("ordinary accepts %q: %v", data, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", data, diff)
		}
	})
}
