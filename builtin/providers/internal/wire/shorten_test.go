package wire

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// readEvents returns the names and the data of the events of a stream.
func readEvents(in io.Reader) (kinds, data []string, err error) {
	next := newEvents(in)
	for {
		kind, event, err := next()
		if errors.Is(err, io.EOF) {
			return kinds, data, nil
		}
		if err != nil {
			return kinds, data, err
		}
		kinds, data = append(kinds, kind), append(data, strings.TrimSuffix(string(event), "\n"))
	}
}

func TestShortener(t *testing.T) {
	t.Parallel()
	const limit = 40
	long := strings.Repeat("x", 1000)
	quotes := strings.Repeat(`\"`, 500)
	kept := func(length int) string { return strings.Repeat("x", length) }
	for name, c := range map[string]struct{ stream, kind, data string }{
		"a short event":     {`data: {"a":"b"}` + "\n\n", "", `{"a":"b"}`},
		"a long text":       {`data: {"a":"` + long + `","b":1}` + "\n\n", shortened, `{"a":"` + kept(shortText) + `","b":1}`},
		"several texts":     {`data: {"a":"` + long + `","b":["` + long + `","c"]}` + "\n\n", shortened, `{"a":"` + kept(shortText) + `","b":["` + kept(shortText) + `","c"]}`},
		"quotes":            {`data: {"a":"` + quotes + `","b":"` + quotes + `\\"}` + "\n\n", shortened, `{"a":"` + quotes[:shortText] + `","b":"` + quotes[:shortText] + `"}`},
		"code points":       {`data: ["` + strings.Repeat(`\u0041`, 100) + `"]` + "\n\n", shortened, `["` + strings.Repeat(`\u0041`, 22) + `"]`},
		"line ends of HTTP": {"event: e\r\n" + `data: ["` + long + `"]` + "\r\n\r\n", shortened, `["` + kept(shortText) + `"]`},
		"carriage returns":  {"event: e\r" + `data: ["` + long + `"]` + "\r\r", shortened, `["` + kept(shortText) + `"]`},
		"no empty line":     {`data: ["` + long + `"]` + "\r\n\r\r\n\r\n", shortened, `["` + kept(shortText) + `"]`},
		"a later name":      {`data: ["` + long + `"]` + "\nevent: e\n\n", shortened, `["` + kept(shortText) + `"]`},
		"many short texts":  {`data: [` + strings.Repeat(`"abc",`, 100) + `""]` + "\n\n", "", `[` + strings.Repeat(`"abc",`, 100) + `""]`},
		"a comment":         {": don\"t\n" + `data: {"a":"b"}` + "\n\n", "", `{"a":"b"}`},
	} {
		for _, in := range []io.Reader{strings.NewReader(c.stream + "data: next\n\n"), iotest.OneByteReader(strings.NewReader(c.stream + "data: next\n\n"))} {
			kinds, data, err := readEvents(newShortener(in, limit))
			if err != nil || len(kinds) != 2 || kinds[0] != c.kind || data[0] != c.data || kinds[1] != "" || data[1] != "next" {
				t.Errorf("%s: names %q, data %q, %v", name, kinds, data, err)
			}
		}
	}
	if _, _, err := readEvents(newShortener(strings.NewReader(`data: ["`+long), limit)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("an event without its end: %v", err)
	}
	if _, _, err := readEvents(newShortener(strings.NewReader("data: "+strings.Repeat("1,", maxRest)), limit)); !errors.Is(err, errEventTooBig) {
		t.Errorf("endless numbers: %v", err)
	}
}

// FuzzShortener: an event whose texts are not cut is the same, and one with cut texts is still JSON with the same values.
func FuzzShortener(f *testing.F) {
	f.Add(`data: {"a":"\u0041\\","b":[1,"`+strings.Repeat("é", 200)+`"]}`+"\n\n", uint8(3))
	f.Add("event: e\r\ndata: \"x\ndata: y\"\n\n: c\n\n", uint8(0))
	f.Fuzz(func(t *testing.T, stream string, limit uint8) {
		stream += "\n\n"
		_, whole, err := readEvents(strings.NewReader(stream))
		if err != nil {
			t.Fatal(err)
		}
		kinds, data, err := readEvents(newShortener(iotest.HalfReader(strings.NewReader(stream)), int(limit)))
		if err != nil || len(data) != len(whole) {
			t.Fatalf("%d events, %v, want %d", len(data), err, len(whole))
		}
		for i := range data {
			switch {
			case kinds[i] != shortened && data[i] != whole[i]:
				t.Errorf("changed without the name: %q, want %q", data[i], whole[i])
			case json.Valid([]byte(whole[i])) && !json.Valid([]byte(data[i])):
				t.Errorf("not JSON: %q of %q", data[i], whole[i])
			case json.Valid([]byte(whole[i])) && values([]byte(data[i])) != values([]byte(whole[i])):
				t.Errorf("other values: %q of %q", data[i], whole[i])
			}
		}
	})
}
