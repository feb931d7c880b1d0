package transfer_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/host/store/transfer"
	"github.com/tenonhq/tenon/sdk"
)

// The files in testdata have every kind of message and part of the versions they are named for, by the schemas in
// packages/opencode/src/session/message-v2.ts of github.com/anomalyco/opencode.
func TestOpencode(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/opencode-*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			f := read(t, string(data))
			// Our output equals opencode's.
			if d := cmp.Diff(canonical(t, data), canonical(t, []byte(encode(t, f)))); d != "" {
				t.Errorf("decoded and encoded (-want +got):\n%s", d)
			}
			for _, m := range f.Messages {
				if _, unknown := m.Info.(*sdk.UnknownMessage); unknown {
					t.Errorf("message %s is not known", m.Info.Head().ID)
				}
				for _, p := range m.Parts {
					if _, unknown := p.(*sdk.UnknownPart); unknown {
						t.Errorf("part %s is not known", p.Head().ID)
					}
				}
			}
			f.Adopt(transfer.Place{ProjectID: "here", Directory: "/src"})
			s := openStore(t)
			if err := s.Import(t.Context(), f.Imports(), false); err != nil {
				t.Fatal(err)
			}
			info, _, err := s.Session(t.Context(), f.Info.ID)
			if err != nil {
				t.Fatal(err)
			}
			back, err := transfer.Export(t.Context(), s, info, true)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(encode(t, f), encode(t, back)); d != "" {
				t.Errorf("imported and exported (-want +got):\n%s", d)
			}
		})
	}
}

// canonical drops what stands for nothing: zeros, empty texts and lists, null. Old versions leave out what later ones write.
func canonical(t *testing.T, data []byte) any {
	t.Helper()
	var v any
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return stripped(v)
}

func stripped(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			if x = stripped(x); x != nil {
				out[k] = x
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case []any:
		for i := range v {
			v[i] = stripped(v[i])
		}
		if len(v) == 0 {
			return nil
		}
		return v
	case string:
		if v == "" {
			return nil
		}
	case float64:
		if v == 0 {
			return nil
		}
	case bool:
		if !v {
			return nil
		}
	}
	return v
}

// A file that was cut off, anywhere, is refused with the line at which it ends.
func TestTruncated(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/opencode-1.18.json")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.TrimRight(string(data), "\n")
	for end := 0; end < len(text); end += 97 {
		_, err := transfer.Read(strings.NewReader(text[:end]))
		if !errors.Is(err, transfer.ErrFile) || !strings.Contains(err.Error(), "line ") || !strings.Contains(err.Error(), "the end of the file") {
			t.Fatalf("Read of the first %d bytes = %v", end, err)
		}
	}
}

func TestReadPlaces(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"deep":             {strings.Repeat(`{"children": [`, 20) + strings.Repeat("]}", 20), "children nest deeper than"},
		"deeper":           {strings.Repeat(`{"children": [`, 10_000), "depth"},
		"brackets":         {`{"future": ` + strings.Repeat("[", 1_000_000), "depth"},
		"many values":      {`{"info": {"x": [` + strings.Repeat(`{"a":1},`, 1<<20) + `0]}}`, "more than 2097152 JSON values"},
		"list for session": {"[]", "the file: unexpected array"},
		"list for child":   {`{"children": [[]]}`, "children[0]: unexpected array"},
		"text for list":    {`{"messages": "x"}`, "messages: unexpected string"},
		"wrong type":       {strings.Replace(foreign, `"text": "fix secret.txt"`, `"text": 7`, 1), "messages[0]"},
		"no message":       {`{"messages": [` + strings.Repeat("{},", 1000) + `{}]}`, "messages[0]"},
		"wrong figure": {strings.Replace(foreign, `"cost": 0.25, "tokens": {"input": 1, "output": 2, "reasoning": 0, "cache": {"read": 0, "write": 0}},
      "time"`, `"cost": "x", "time"`, 1), "messages[1]"},
		"comma": {strings.Replace(foreign, `"type": "text",`, `"type": "text",,`, 1), "line 8"},
	} {
		_, err := transfer.Read(strings.NewReader(c.text))
		if !errors.Is(err, transfer.ErrFile) || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 600 {
			t.Errorf("%s: Read = %.700v, want ErrFile with %q", name, err, c.want)
		}
	}
}
