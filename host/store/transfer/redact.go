package transfer

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/internal/jsontext"
)

// structure lists the fields of sessions, messages and parts whose texts are kept, because they describe the course of a conversation and
// not its content.
const structure = `
	id sessionID messageID parentID tail_start_id callID type role status tool agent mode modelID providerID variant finish name mime version
	slug priority`

// fields lists the names of fields that are kept: those of the wire (sdk, transfer) and of the arguments and results of built-in tools. Any
// other name is data, such as a path or the name of a header.
const fields = `
	additions agent archived attachments attempt auto body cache callID children clientName command compacted compacting completed
	content cost created cwd data deletions description diff diffs directory end error file filename files finish format hash id
	ignored info input isRetryable kind message messageID messages metadata mime mode model modelID name output outputs overflow
	parentID partID parts patch path priority projectID prompt providerID range raw read reason reasoning ref responseBody
	responseHeaders retries retryCount revert role root schema session sessionID share slug snapshot source start state status
	statusCode structured summary synthetic system tail_start_id text time title todos tokens tool tools total type updated uri url
	value variant version workspaceID write
	exit filePath include interrupted limit newString offset oldString outputPath pattern questions replaceAll subagent_type timeout
	truncated workdir`

// Redact returns a copy of the file that has the structure of the conversation but not its content: texts, paths, and the arguments and
// results of tools are replaced by their length and a keyed hash. Equal texts of a file have equal hashes; the key is not kept. Large outputs
// are omitted.
func (f *File) Redact() (*File, error) {
	r := &redactor{keep: strings.Fields(structure), known: strings.Fields(fields), key: make([]byte, 32)}
	if _, err := rand.Read(r.key); err != nil {
		return nil, err
	}
	data, err := json.Marshal(f.bare())
	if err != nil {
		return nil, err
	}
	var value map[string]any
	if err := jsontext.DecodeExact(data, &value); err != nil {
		return nil, err
	}
	if data, err = json.Marshal(r.object(value, wire)); err != nil {
		return nil, err
	}
	out := &File{}
	if err := json.Unmarshal(data, out); err != nil {
		return nil, fmt.Errorf("redact session %s: %w", f.Info.ID, err)
	}
	for _, d := range f.Damaged {
		if d.Type == store.DamagedBlob {
			d.ID = r.hidden(d.ID) // a hash of the content
		}
		out.Damaged = append(out.Damaged, d)
	}
	return out, nil
}

// bare returns the file without what Redact omits or adds. Outputs may be large.
func (f *File) bare() *File {
	info := *f.Info
	info.Permission = nil // its patterns are paths and commands
	out := &File{Info: &info, Messages: f.Messages, Todos: f.Todos}
	for _, child := range f.Children {
		out.Children = append(out.Children, child.bare())
	}
	return out
}

type redactor struct {
	keep  []string // structure
	known []string // fields
	key   []byte
}

// zone determines which of its texts and numbers a value keeps.
type zone int

const (
	wire  zone = iota // the texts of structure, and numbers
	texts             // numbers
	data              // nothing
)

// inside returns the zone of the value of a field.
func (z zone) inside(key string) zone {
	switch key {
	case "input", "metadata", "structured", "schema":
		return data
	case "data", "source":
		return max(z, texts)
	}
	return z
}

func (r *redactor) value(key string, v any, z zone) any {
	switch v := v.(type) {
	case map[string]any:
		return r.object(v, z)
	case []any:
		for i := range v {
			v[i] = r.value(key, v[i], z)
		}
		return v
	case string:
		if v == "" || z == wire && slices.Contains(r.keep, key) {
			return v
		}
		return r.hidden(v)
	case json.Number:
		if z == data {
			return r.hidden(v.String())
		}
	}
	return v
}

func (r *redactor) object(v map[string]any, z zone) map[string]any {
	out := make(map[string]any, len(v))
	for k, value := range v {
		name, inner := k, z
		if _, number := value.(json.Number); !number { // tokens.input is a number
			inner = z.inside(k)
		}
		if !slices.Contains(r.known, k) {
			name, inner = r.hidden(k), data
		}
		out[name] = r.value(k, value, inner)
	}
	return out
}

func (r *redactor) hidden(s string) string {
	mac := hmac.New(sha256.New, r.key)
	mac.Write([]byte(s))
	return fmt.Sprintf("[redacted: %d bytes, %s]", len(s), hex.EncodeToString(mac.Sum(nil)[:6]))
}
