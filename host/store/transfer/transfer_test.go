package transfer_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite"
	"github.com/tenonhq/tenon/host/store/transfer"
	"github.com/tenonhq/tenon/sdk"
)

// foreign is a file as opencode writes it, with one of all that cannot be carried over.
const foreign = `{
  "info": {"id": "ses_1", "slug": "quiet-fox", "projectID": "p0", "workspaceID": "wrk_1", "directory": "/home/bob/x", "parentID": "ses_0", "title": "Fix it",
    "version": "1.18.34", "cost": 0.25, "tokens": {"input": 1, "output": 2, "reasoning": 0, "cache": {"read": 0, "write": 0}},
    "share": {"url": "https://s/1"}, "permission": [{"permission": "bash", "pattern": "*", "action": "allow"}],
    "revert": {"messageID": "msg_1"}, "time": {"created": 1, "updated": 2}, "future": 1},
  "messages": [
    {"info": {"id": "msg_1", "sessionID": "ses_1", "role": "user", "time": {"created": 1}, "agent": "build", "model": {"providerID": "p", "modelID": "m"}},
     "parts": [{"id": "prt_1", "sessionID": "ses_1", "messageID": "msg_1", "type": "text", "text": "fix secret.txt"},
      {"id": "prt_6", "sessionID": "ses_1", "messageID": "msg_1", "type": "file", "mime": "image/png", "filename": "a.png", "url": "data:image/png;base64,",
        "source": {"type": "file", "path": "/home/me/key"}}]},
    {"info": {"id": "msg_2", "sessionID": "ses_1", "role": "assistant", "parentID": "msg_1", "modelID": "m", "providerID": "p", "mode": "build", "agent": "build",
      "path": {"cwd": "/home/bob/x", "root": "/home/bob/x"}, "cost": 0.25, "tokens": {"input": 1, "output": 2, "reasoning": 0, "cache": {"read": 0, "write": 0}},
      "time": {"created": 2, "completed": 3}, "finish": "stop"},
     "parts": [
      {"id": "prt_2", "sessionID": "ses_1", "messageID": "msg_2", "type": "step-start", "snapshot": "abc"},
      {"id": "prt_3", "sessionID": "ses_1", "messageID": "msg_2", "type": "tool", "callID": "c1", "tool": "bash", "state": {"status": "completed",
        "input": {"command": "cat secret.txt", "timeout": 4711471147114, "name": "hunter2"}, "output": "hunter2\n", "title": "t", "metadata": {"exit": 0, "outputPath": "/data/tool_1"},
        "time": {"start": 1, "end": 2}}},
      {"id": "prt_4", "sessionID": "ses_1", "messageID": "msg_2", "type": "patch", "hash": "abc", "files": ["/etc/passwd"]},
      {"id": "prt_5", "sessionID": "ses_1", "messageID": "msg_2", "type": "novelty", "payload": {"x": 1}}]}]}`

func read(t *testing.T, text string) *transfer.File {
	t.Helper()
	f, err := transfer.Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func encode(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func openStore(t testing.TB) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "tenon.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestAdopt(t *testing.T) {
	t.Parallel()
	f := read(t, foreign)
	notes := f.Adopt(transfer.Place{ProjectID: "here", Directory: "/src"})
	for _, want := range []string{"subagent", "permission rules", "share URL", "undo", "workspace", "file states", "preview", "attached file", `"/home/bob/x"`} {
		if !slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, want) }) {
			t.Errorf("no note on %q in %q", want, notes)
		}
	}
	got := encode(t, f)
	for _, gone := range []string{"permission", "https://s/1", "revert", "wrk_1", "ses_0", "/etc/passwd", `"snapshot"`, "/data/tool_1", "/home/me/key"} {
		if strings.Contains(got, gone) {
			t.Errorf("%s is still there: %s", gone, got)
		}
	}
	for _, kept := range []string{`"future":1`, `"novelty","payload":{"x":1}`, `"cost":0.25`, `"directory":"/src"`, `"projectID":"here"`} {
		if !strings.Contains(got, kept) {
			t.Errorf("%s is lost: %s", kept, got)
		}
	}
}

// The cost of a session of an older opencode is the sum of its messages; a session's own figure is kept.
func TestAdoptCounts(t *testing.T) {
	t.Parallel()
	const message = `{"info": {"id": "msg_%s", "sessionID": "ses_a", "role": "assistant", "cost": 0.25,
		"tokens": {"input": 100, "output": 20, "reasoning": 3, "cache": {"read": 10, "write": 5}}}, "parts": []}`
	for name, c := range map[string]struct {
		info string
		cost sdk.USD
		sum  int64
	}{
		"in messages alone": {`{"id": "ses_a"}`, 500_000_000_000, 276},
		"in the original":   {`{"id": "ses_a", "time": {"created": 9}}`, 0, 0},
		"in the session":    {`{"id": "ses_a", "cost": 0.75, "tokens": {"input": 300}}`, 750_000_000_000, 300},
	} {
		f := read(t, fmt.Sprintf(`{"info": %s, "messages": [%s, %s]}`, c.info, fmt.Sprintf(message, "a"), fmt.Sprintf(message, "b")))
		f.Adopt(transfer.Place{ProjectID: "here", Directory: "/src"})
		if f.Info.Cost != c.cost || f.Info.Tokens.Sum() != c.sum {
			t.Errorf("%s: %v and %d tokens, want %v and %d", name, f.Info.Cost, f.Info.Tokens.Sum(), c.cost, c.sum)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	f := read(t, foreign)
	big := strings.Repeat("a long line of output\n", 5000)
	f.Messages[1].Parts[1].(*sdk.ToolPart).State.Output = big
	f.Children = []*transfer.File{{Info: &sdk.Session{ID: "ses_c", ParentID: "ses_1"}, Messages: []sdk.MessageWithParts{}}}
	f.Todos = []sdk.Todo{{Content: "c", Status: "pending", Priority: "high"}}
	f.Adopt(transfer.Place{ProjectID: "here", Directory: "/src"})
	if err := s.Import(t.Context(), f.Imports(), false); err != nil {
		t.Fatal(err)
	}
	info, _, err := s.Session(t.Context(), "ses_1")
	if err != nil {
		t.Fatal(err)
	}
	out, err := transfer.Export(t.Context(), s, info, true)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(encode(t, f), encode(t, out)); d != "" {
		t.Errorf("export of an import (-want +got):\n%s", d)
	}
	call := out.Messages[1].Parts[1].(*sdk.ToolPart)
	if hash := store.Hash([]byte(big)); out.Outputs[hash] != big || !strings.Contains(call.State.Output, hash) || len(call.State.Output) > 60_000 {
		t.Errorf("the large output was not stored apart: %d outputs, preview of %d bytes", len(out.Outputs), len(call.State.Output))
	}
	// Once more, through the text of a file: nothing is left to change but the way back to the parent.
	again := read(t, encode(t, out))
	if notes := again.Adopt(transfer.Place{ProjectID: "here", Directory: "/src"}); len(notes) > 0 {
		t.Errorf("a second adoption found %q", notes)
	}
	if d := cmp.Diff(encode(t, &transfer.File{Info: out.Info, Messages: out.Messages}), encode(t, &transfer.File{Info: again.Info, Messages: again.Messages})); d != "" {
		t.Errorf("a second adoption changed it (-want +got):\n%s", d)
	}
}

// TestExportOfAttachedFiles: opencode refuses files with a source that the prompt does not mention.
func TestExportOfAttachedFiles(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	f := read(t, foreign)
	f.Adopt(transfer.Place{ProjectID: "here", Directory: "/src"})
	mention := &sdk.FileSource{Type: "file", Path: "/src/b", Text: &sdk.SourceText{Value: "@b", End: 2}}
	for i, source := range []*sdk.FileSource{{Type: "file", Path: "/src/a"}, {Type: "file"}, mention} {
		head := sdk.PartHead{ID: fmt.Sprintf("prt_file%d", i), SessionID: "ses_1", MessageID: f.Messages[0].Info.Head().ID}
		f.Messages[0].Parts = append(f.Messages[0].Parts, &sdk.FilePart{PartHead: head, Mime: "text/plain", URL: "file:///src/a", Source: source})
	}
	if err := s.Import(t.Context(), f.Imports(), false); err != nil {
		t.Fatal(err)
	}
	info, _, err := s.Session(t.Context(), "ses_1")
	if err != nil {
		t.Fatal(err)
	}
	out, err := transfer.Export(t.Context(), s, info, false)
	if err != nil {
		t.Fatal(err)
	}
	var got []*sdk.FileSource
	for _, p := range out.Messages[0].Parts {
		if file, ok := p.(*sdk.FilePart); ok && file.URL == "file:///src/a" {
			got = append(got, file.Source)
		}
	}
	if diff := cmp.Diff([]*sdk.FileSource{nil, nil, mention}, got); diff != "" {
		t.Errorf("sources (-want +got):\n%s", diff)
	}
}

// A turn that was under way when the file was written is one that was cut off.
func TestOpenTurn(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	for text, want := range map[string]int{foreign: 0, strings.Replace(foreign, `"created": 2, "completed": 3`, `"created": 2`, 1): 1} {
		f := read(t, text)
		f.Adopt(transfer.Place{})
		if err := s.Import(t.Context(), f.Imports(), true); err != nil {
			t.Fatal(err)
		}
		if open, err := s.Interrupted(t.Context()); err != nil || len(open) != want {
			t.Errorf("Interrupted = %v, %v, want %d", open, err, want)
		}
	}
}

// A tool without its own limit may say that its output is not truncated. The usual limit applies.
func TestNotTruncated(t *testing.T) {
	t.Parallel()
	f := read(t, foreign)
	state := &f.Messages[1].Parts[1].(*sdk.ToolPart).State
	state.Output, state.Metadata = strings.Repeat("a line of 27 bytes of output\n", 2500), sdk.Object{"truncated": false}
	f.Adopt(transfer.Place{ProjectID: "here", Directory: "/src"})
	if len(f.Outputs) != 1 || state.Metadata["truncated"] != true || len(state.Output) > 60_000 {
		t.Errorf("%d outputs, %d bytes in the conversation, metadata %v", len(f.Outputs), len(state.Output), state.Metadata)
	}
}

// An output that was changed in the file is left out: it is not what the call returned.
func TestOutputsChanged(t *testing.T) {
	t.Parallel()
	old := strings.Repeat("0", 64)
	f := read(t, strings.NewReplacer("/data/tool_1", "tool-output/"+old).Replace(foreign))
	f.Outputs = map[string]string{old: "masked"}
	notes := f.Adopt(transfer.Place{Directory: "/home/bob/x"})
	call := f.Messages[1].Parts[1].(*sdk.ToolPart)
	if call.State.Metadata["outputPath"] != nil || !slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, "full text of a large output") }) {
		t.Errorf("call %+v, notes %q", call.State, notes)
	}
}

func TestRedact(t *testing.T) {
	t.Parallel()
	f := read(t, foreign)
	f.Outputs = map[string]string{"x": "hunter2"}
	child := read(t, strings.NewReplacer("ses_1", "ses_2", "ses_0", "ses_1", "msg_", "msg_c", "prt_", "prt_c").Replace(foreign))
	child.Outputs = f.Outputs
	f.Children = []*transfer.File{child}
	f.Damaged = []store.Damage{{Type: store.DamagedBlob, Session: "ses_1", ID: store.Hash([]byte("hunter2")), Problem: "the row is missing"}}
	out, err := f.Redact()
	if err != nil {
		t.Fatal(err)
	}
	got := encode(t, out)
	// A number must be longer than the 12 digits of a hash, which could contain it by chance.
	for _, secret := range []string{"hunter2", "secret.txt", "bob", "4711471147114", "Fix it", "s/1", "/etc", "tool_1", "p0", "allow"} {
		if strings.Contains(got, secret) {
			t.Errorf("%q is still there: %s", secret, got)
		}
	}
	if strings.Contains(got, store.Hash([]byte("hunter2"))) || len(out.Children) != 1 {
		t.Errorf("the hash of an output is there, or no child: %s", got)
	}
	for _, kept := range []string{`"tool":"bash"`, `"status":"completed"`, `"cost":0.25`, `"input":1`, `"finish":"stop"`, "redacted: 14 bytes"} {
		if !strings.Contains(got, kept) {
			t.Errorf("%s is lost: %s", kept, got)
		}
	}
	if _, err := transfer.Read(strings.NewReader(got)); err != nil {
		t.Errorf("a redacted file cannot be read: %v", err)
	}
	again, err := f.Redact()
	if err != nil || encode(t, again) == got {
		t.Error("the hashes of two files are the same: whoever has both can compare them")
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ old, new, want string }{
		"no JSON":         {foreign, "{\n\n]", "line 3"},
		"empty":           {foreign, "", "JSON"},
		"null":            {foreign, "null", "info is missing"},
		"other JSON":      {foreign, `{"messages": []}`, "info is missing"},
		"two values":      {foreign, foreign + "{}", "after top-level value"},
		"bad id":          {`"id": "ses_1"`, `"id": "../ses_1"`, "info.id"},
		"other prefix":    {`"id": "msg_1"`, `"id": "prt_1"`, "messages[0].info.id"},
		"twice":           {`"id": "prt_4"`, `"id": "prt_3"`, "messages[1].parts[2].id"},
		"other session":   {`"id": "msg_2", "sessionID": "ses_1"`, `"id": "msg_2", "sessionID": "ses_2"`, "messages[1].info.sessionID"},
		"other message":   {`"messageID": "msg_1", "type": "text"`, `"messageID": "msg_2", "type": "text"`, "messages[0].parts[0]"},
		"null part":       {`{"id": "prt_1", "sessionID": "ses_1", "messageID": "msg_1", "type": "text", "text": "fix secret.txt"}`, "null", "part"},
		"message no role": {`"role": "user", `, "", ""},
		"child of none":   {`"messages": [`, `"children": [{"info": {"id": "ses_9"}}], "messages": [`, "children[0].info.parentID"},
		"null child":      {`"messages": [`, `"children": [null], "messages": [`, "children[0].info is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := transfer.Read(strings.NewReader(strings.Replace(foreign, c.old, c.new, 1)))
			if c.want == "" {
				if err != nil {
					t.Errorf("Read = %v; a message of a kind we do not know can be kept", err)
				}
				return
			}
			if !errors.Is(err, transfer.ErrFile) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Read = %v, want ErrFile with %q", err, c.want)
			}
		})
	}
}

// Every readable file can be stored, and comes back.
func FuzzRead(f *testing.F) {
	f.Add(foreign)
	f.Add(`{"info": {"id": "ses_1"}, "messages": [], "outputs": {"a": "b"}}`)
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	s := openStore(f)
	f.Fuzz(func(t *testing.T, text string) {
		file, err := transfer.Read(strings.NewReader(text))
		if err != nil {
			if !errors.Is(err, transfer.ErrFile) {
				t.Errorf("Read = %v", err)
			}
			return
		}
		if _, err := file.Redact(); err != nil {
			t.Fatalf("Redact = %v", err)
		}
		file.Adopt(transfer.Place{ProjectID: "p", Directory: "/src"})
		if err := s.Import(t.Context(), file.Imports(), true); err != nil {
			t.Fatalf("Import = %v", err)
		}
		info, _, err := s.Session(t.Context(), file.Info.ID)
		if err != nil {
			t.Fatal(err)
		}
		back, err := transfer.Export(t.Context(), s, info, true)
		if err != nil {
			t.Fatal(err)
		}
		if len(back.Messages) != len(file.Messages) || fmt.Sprint(len(back.Children)) != fmt.Sprint(len(file.Children)) {
			t.Errorf("%d messages and %d children came back as %d and %d", len(file.Messages), len(file.Children), len(back.Messages), len(back.Children))
		}
	})
}
