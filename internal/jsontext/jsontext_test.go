package jsontext

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// samples are JSON that the fast and the slow way could read differently, and data that is not JSON.
var samples = []string{
	`{}`, ` { } `, `null`, `[]`, `{"a":1}x`, `{"a":1,}`, `{,}`, `{"a" 1}`, `{"a":"`, `{"a":"\`, `{"a":1,"a":2}`, `{"\u0061":1}`, `{"\ud83d":1}`,
	`{"a":{"b":[1,-0,0,-1,1.5,1e400,12345678901234567,123456789012345,0.1234567890123456789,"x",null,true,false,{},[]]}}`,
	`{"a":-}`, `{"a":1.}`, `{"a":01}`, `{"a":tru}`, `{"a":"\n\t\r\b\f\/\\\"\u00e9\u2028\u0000"}`, `{"a":"\ud83d\ude00"}`, `{"a":"\ud83d"}`, `{"a":"\x"}`, `{"a":"\u+123"}`,
	"{\"a\":\"\xff\"}", "{\"\xff\":1}", "{\"a\":\"a\nb\"}", "\t{\"a\" :\r\n1 , \"b\": [ 1 , 2 ] } ",
	strings.Repeat(`{"a":`, 300) + "1" + strings.Repeat(`}`, 300),
}

// exact tells zero from minus zero.
var exact = cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })

// FuzzDecodeObject checks that the fast way agrees with encoding/json.
func FuzzDecodeObject(f *testing.F) {
	for _, sample := range samples {
		f.Add([]byte(sample))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d := NewScanner(data)
		fast, ok := d.Object()
		if !ok || !d.AtEnd() {
			return
		}
		var slow map[string]any
		if err := DecodeExact(data, &slow); err != nil {
			t.Fatalf("read %q, which encoding/json refuses: %v", data, err)
		}
		if diff := cmp.Diff(rounded(slow), any(fast), exact); diff != "" {
			t.Fatalf("%q (-slow +fast):\n%s", data, diff)
		}
	})
}

// rounded returns a value of DecodeExact with the numbers that a float64 holds without loss as such.
func rounded(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = rounded(e)
		}
	case []any:
		for i, e := range v {
			v[i] = rounded(e)
		}
	case json.Number:
		i, err := v.Int64()
		if err == nil && -1<<53 < i && i < 1<<53 || err != nil && len(v) <= 15 {
			if f, err := v.Float64(); err == nil {
				return f
			}
		}
	}
	return v
}

// FuzzEachField checks that the fields of valid JSON are those that encoding/json finds, and that any data comes to an end.
func FuzzEachField(f *testing.F) {
	for _, sample := range samples {
		f.Add([]byte(sample))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := map[string]json.RawMessage{}
		EachField(data, func(key, value []byte) bool {
			got[Name(key)] = value
			return true
		})
		var want map[string]json.RawMessage
		if json.Unmarshal(data, &want) != nil || want == nil {
			return
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("fields of %q (-want +got):\n%s", data, diff)
		}
	})
}

// FuzzEachElement checks the same for arrays.
func FuzzEachElement(f *testing.F) {
	for _, sample := range samples {
		f.Add([]byte("[" + sample + "," + sample + "]"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := []json.RawMessage{}
		EachElement(data, func(value []byte) { got = append(got, value) })
		var want []json.RawMessage
		if json.Unmarshal(data, &want) != nil || want == nil {
			return
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("elements of %q (-want +got):\n%s", data, diff)
		}
	})
}

// FuzzAppendString checks that texts are written as encoding/json writes them.
func FuzzAppendString(f *testing.F) {
	f.Add("\x00\x1f\"\\/<>&\u2028\u2029\b\f\n\r\t")
	f.Add("é\xc3😀\u007f\ufffd")
	f.Fuzz(func(t *testing.T, s string) {
		want, err := Marshal(s)
		if got := Quote(s); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%q: %s, want %s, %v", s, got, want, err)
		}
	})
}

// FuzzAppendCompact checks that JSON is written and refused as by json.Compact.
func FuzzAppendCompact(f *testing.F) {
	for _, sample := range samples {
		f.Add([]byte(sample))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var want bytes.Buffer
		wantErr := json.Compact(&want, data)
		got, err := AppendCompact([]byte("x"), data)
		if (err == nil) != (wantErr == nil) || err == nil && string(got) != "x"+want.String() {
			t.Fatalf("AppendCompact(%q) = %q, %v, want %q, %v", data, got, err, &want, wantErr)
		}
	})
}

// FuzzScanner checks that a Scanner accepts what encoding/json accepts.
func FuzzScanner(f *testing.F) {
	for _, sample := range samples {
		f.Add([]byte(sample))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d := NewScanner(data)
		if _, ok := d.Any(); (ok && d.AtEnd()) != json.Valid(data) {
			t.Fatalf("a Scanner and encoding/json disagree about %q", data)
		}
	})
}

func TestRepeated(t *testing.T) {
	t.Parallel()
	deep := func(inner string) string { return strings.Repeat(`{"a":[`, 4999) + inner + strings.Repeat(`]}`, 4999) }
	for data, want := range map[string]string{
		`{"a":1,"a":2}`: "a", `{"\u0061":1,"a":2}`: "a", ` { "x" : [ null, {"b":1,"c":2,"b":3} ] } `: "b", `{"a":{"b":1,"a":1},"a":1}`: "a", `{"":1,"":2}`: "",
		deep(`{"b":1,"b":2}`): "b",
	} {
		if name, found := Repeated([]byte(data)); !found || name != want {
			t.Errorf("Repeated(%.50s) = %q, %t, want %q", data, name, found, want)
		}
	}
	for _, data := range []string{`{}`, `[]`, `{"a":1,"A":2}`, `{"a":{"a":[{"a":1},{"a":"\"a"}]},"b":"x"}`, deep(`{"b":1,"c":-1.5e3}`)} {
		if name, found := Repeated([]byte(data)); found {
			t.Errorf("Repeated(%.50s) = %q", data, name)
		}
	}
}
