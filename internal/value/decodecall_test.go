package value_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
)

// other holds texts that encoding/json decodes in another way: it takes names in other capitals, and null for an attachment.
var other = []string{`"Id"`, `"Text"`, `"ſessionID"`, `"attachments":[null]`}

// checkDecode checks that Decode makes of data what json.Unmarshal does, for any value and for the input and the value of every point.
func checkDecode(t *testing.T, data []byte) {
	t.Helper()
	checkDecodeInto(t, data, func() any { return new(any) })
	for _, p := range hookpoint.All() {
		for _, fresh := range []func() any{p.NewInput, p.NewValue} {
			if fresh != nil {
				checkDecodeInto(t, data, fresh)
			}
		}
	}
}

func checkDecodeInto(t *testing.T, data []byte, fresh func() any) {
	t.Helper()
	if slices.ContainsFunc(other, func(text string) bool { return bytes.Contains(data, []byte(text)) }) {
		return
	}
	want, got := fresh(), fresh()
	wantErr, err := json.Unmarshal(data, want), value.Decode(data, got)
	if (wantErr == nil) != (err == nil) {
		t.Errorf("Decode(%q, %T): %v, json.Unmarshal: %v", data, got, err, wantErr)
		return
	}
	if wantErr == nil && !reflect.DeepEqual(want, got) {
		t.Errorf("Decode(%q, %T) = %s, json.Unmarshal: %s", data, got, encode(t, got), encode(t, want))
	}
}

func TestDecodeAgrees(t *testing.T) {
	t.Parallel()
	for _, sample := range slices.Concat(wireSamples, oddJSON, []string{
		`[1,-0,0.1,1e3,9007199254740993,{"a":[12345678901234567890,0.30000000000000000000004]},true,null,"\ud800"]`, `1e999`, `{"a":1,"a":{"b":2}}`,
		`{"parts":[{"type":"te\u0078t","text":"a"}]}`, `{"parts":[{"type":"zzz","type":"text"}]}`, `{"parts":[{"type":"zzz","x":1}]}`, `{"parts":[null]}`, `{"parts":[1]}`, `{"parts":null}`, `{"parts":{}}`,
		`{"messages":[{"info":{"role":"user","id":"m","new":1},"parts":[]}]}`, `{"messages":[{"info":{"role":"robot","id":"m"},"parts":[],"new":1}]}`, `{"messages":[{"parts":[]}]}`, `{"messages":[{}]}`, `{"messages":null}`,
		`{"messages":[{"info":{"role":"user"},"info":{"role":"assistant"}}]}`, `{"messages":[{"info":{"role":"user","summary":{"diffs":[],"x":1}},"parts":[{"type":"text","time":{"start":1,"y":2}}]}]}`,
		`{"model":{"variants":{"high":{"a":1},"low":null}}}`, `{"model":{"limit":{"context":1,"new":2}}}`, `{"model":{"cost":{"input":2.5,"output":1e1}}}`, `{"model":null}`, `{"message":null}`, `{"system":null}`, `{"headers":null}`,
	}) {
		checkDecode(t, []byte(sample))
	}
	for seed := range uint64(60) {
		g := newGenerator(seed)
		for _, p := range hookpoint.All() {
			data := []byte(encode(t, g.value(p.NewInput())))
			checkDecodeInto(t, data, p.NewInput)
			checkDecodeInto(t, g.garble(data), p.NewInput)
			if p.NewValue == nil {
				continue
			}
			data = []byte(encode(t, g.value(p.NewValue())))
			checkDecodeInto(t, data, p.NewValue)
			checkDecodeInto(t, g.garble(data), p.NewValue)
		}
	}
}

func TestDecodeMerges(t *testing.T) {
	t.Parallel()
	v := sdk.ChatMessageInput{SessionID: "s", Agent: "a"}
	if err := value.Decode([]byte(`{"agent":"b"}`), &v); err != nil || v.SessionID != "s" || v.Agent != "b" {
		t.Errorf("decoded into what was there: %+v, %v", v, err)
	}
}

func TestDecodeCall(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		data string
		ok   bool
	}{
		"plain":        {`{"input":{"sessionID":"s"},"value":{"text":"t"}}`, true},
		"other order":  {` { "value" : {"text":"t"} , "input" : {"sessionID":"s"} } `, true},
		"more":         {`{"point":"text.complete","hook":"h","input":{"sessionID":"s","new":{}},"value":{"text":"t","new":[]}}`, true},
		"escaped":      {`{"input":{"session\u0049D":"s"},"value":{"text":"\u0074"}}`, true},
		"escaped name": {`{"\u0069nput":{"sessionID":"s"},"value":{"text":"t"}}`, false},
		"no value":     {`{"input":{"sessionID":"s"}}`, false},
		"no input":     {`{"value":{"text":"t"}}`, false},
		"null":         {`null`, false},
		"empty":        {``, false},
		"trailing":     {`{"input":{},"value":{}}{}`, false},
		"wrong value":  {`{"input":{},"value":[]}`, false},
		"wrong input":  {`{"input":"s","value":{}}`, false},
		"three inputs": {`{"input":{},"input":{},"input":{}}`, false},
	}
	for name, c := range cases {
		in, v := &sdk.TextCompleteInput{}, &sdk.TextCompleteValue{}
		err := value.DecodeCall([]byte(c.data), in, v)
		if (err == nil) != c.ok || c.ok && (in.SessionID != "s" || v.Text != "t") {
			t.Errorf("%s: %+v, %+v, %v", name, in, v, err)
		}
		if err != nil && !errors.Is(err, sdk.ErrWire) {
			t.Errorf("%s: %v does not wrap ErrWire", name, err)
		}
	}
	in := &sdk.TurnStopInput{}
	if err := value.DecodeCall([]byte(`{"input":{"text":"t"}}`), in, nil); err != nil || in.Text != "t" {
		t.Errorf("without a value: %+v, %v", in, err)
	}
}

// FuzzDecodeCall checks that a call is its input and its value, decoded one by one.
func FuzzDecodeCall(f *testing.F) {
	for _, sample := range oddJSON {
		f.Add([]byte(`{"input":`+sample+`,"value":{}}`), uint(4))
		f.Add([]byte(`{"input":{},"value":`+sample+`}`), uint(5))
	}
	for seed := range uint64(len(hookpoint.All())) {
		g, p := newGenerator(seed), hookpoint.All()[seed]
		data := `{"input":` + encode(f, g.value(p.NewInput()))
		if p.NewValue != nil {
			data += `,"value":` + encode(f, g.value(p.NewValue()))
		}
		f.Add([]byte(data+"}"), uint(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte, n uint) {
		p := hookpoint.All()[n%uint(len(hookpoint.All()))]
		in, v := p.NewInput(), any(nil)
		if p.NewValue != nil {
			v = p.NewValue()
		}
		if value.DecodeCall(data, in, v) != nil {
			return
		}
		var call sdk.RemoteCall
		if err := json.Unmarshal(data, &call); err != nil {
			t.Fatalf("taken: %v", err)
		}
		compareDecoded(t, call.Input, in)
		if v != nil {
			compareDecoded(t, call.Value, v)
		}
	})
}

func compareDecoded(t *testing.T, data []byte, got any) {
	t.Helper()
	want := reflect.New(reflect.TypeOf(got).Elem()).Interface()
	if err := value.Decode(data, want); err != nil {
		t.Fatalf("taken: %v", err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-Decode +DecodeCall):\n%s", diff)
	}
}

// TestPriceForms checks that the short way of reading amounts agrees with the long one, which those with an exponent take.
func TestPriceForms(t *testing.T) {
	t.Parallel()
	for _, number := range []string{
		"", ".", "1.", "0", "1", "2.5", "0.15", "-1", "-0.000001", "0.0000001", "123456789012", "1234567890123", "0.1234567", "00012.5", "1.0", "1.2.3",
		strings.Repeat("9", 13), strings.Repeat("9", 19), strings.Repeat("9", 40),
	} {
		var short, long sdk.Price
		err, longErr := short.UnmarshalJSON([]byte(number)), long.UnmarshalJSON([]byte(number+"e0"))
		if short != long || (err == nil) != (longErr == nil) {
			t.Errorf("%s: %d and %d, %v and %v", number, short, long, err, longErr)
		}
	}
}
