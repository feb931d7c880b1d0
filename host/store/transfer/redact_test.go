package transfer_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/host/store/transfer"
	"github.com/tenonhq/tenon/sdk"
)

const mark = "hunter2"

// structural are the fields that a redacted file keeps, where they are ours.
const structural = " id sessionID messageID parentID tail_start_id callID type role status tool agent mode modelID providerID variant finish name mime version slug priority "

// marked puts a secret into every text, and into the names of fields that are data.
func marked(v any, key string, data bool) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			_, figures := x.(float64)
			inside := data || !figures && strings.Contains(" input metadata structured schema ", " "+k+" ")
			out[k] = marked(x, k, inside || k == "data" || k == "source")
			if inside {
				out[mark+k] = marked(x, k, true)
			}
		}
		return out
	case []any:
		for i := range v {
			v[i] = marked(v[i], key, data)
		}
		return v
	case string:
		if data && key != "type" || !strings.Contains(structural, " "+key+" ") {
			return v + mark
		}
	}
	return v
}

// Wherever a session contains a secret, a redacted file does not.
func TestRedactAnywhere(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/opencode-*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(data, &v); err != nil {
			t.Fatal(err)
		}
		text := encode(t, marked(v, "", false))
		f := read(t, text)
		f.Outputs = map[string]string{strings.Repeat("0", 64): mark}
		if n := strings.Count(encode(t, f), mark); n < 10 {
			t.Fatalf("%s: the secret is there %d times before", name, n)
		}
		out, err := f.Redact()
		if err != nil {
			t.Fatal(err)
		}
		got := encode(t, out)
		for rest := got; ; {
			i := strings.Index(rest, mark)
			if i < 0 {
				break
			}
			t.Errorf("%s: …%s…", name, rest[max(0, i-60):min(len(rest), i+40)])
			rest = rest[i+len(mark):]
		}
		read(t, got)
	}
}

// Outputs of tools, which may be large, are not encoded just to be omitted.
func TestRedactOutputs(t *testing.T) {
	child := &transfer.File{Info: &sdk.Session{}, Outputs: map[string]string{"a": strings.Repeat("x", 32<<20)}}
	f := &transfer.File{Info: &sdk.Session{}, Outputs: child.Outputs, Children: []*transfer.File{child}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	out, err := f.Redact()
	runtime.ReadMemStats(&after)
	if err != nil || out.Outputs != nil || len(out.Children) != 1 || out.Children[0].Outputs != nil {
		t.Fatalf("Redact() = %+v, %v, want no outputs", out, err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
		t.Errorf("Redact allocated %d bytes", used)
	}
}
