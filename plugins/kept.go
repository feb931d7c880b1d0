package plugins

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"github.com/tenonhq/tenon/plugins/manifest"
)

// errKept is returned for a kept package that another version wrote.
var errKept = errors.New("not a kept package")

// keptHead is the first line of a kept package: its JSON without the long texts, and their lengths in bytes. The texts follow, so that
// a start does not decode them.
type keptHead struct {
	Package manifest.Package `json:"package"`
	Texts   []int            `json:"texts"`
}

// texts returns the prompts of the agents and the templates of the commands.
func textsOf(p *manifest.Package) []*string {
	var out []*string
	for i := range p.Description.Agents {
		out = append(out, &p.Description.Agents[i].Prompt)
	}
	for i := range p.Description.Commands {
		out = append(out, &p.Description.Commands[i].Template)
	}
	return out
}

// encodeKept returns a package in the form that is kept next to its sealed copy.
func encodeKept(p *manifest.Package) ([]byte, error) {
	h := keptHead{Package: *p}
	h.Package.Description.Agents = slices.Clone(p.Description.Agents)
	h.Package.Description.Commands = slices.Clone(p.Description.Commands)
	var tail bytes.Buffer
	for _, text := range textsOf(&h.Package) {
		h.Texts = append(h.Texts, len(*text))
		tail.WriteString(*text)
		*text = ""
	}
	head, err := json.Marshal(h) // in one line
	return slices.Concat(head, []byte("\n"), tail.Bytes()), err
}

// decodeKept reads what encodeKept wrote.
func decodeKept(data []byte) (*manifest.Package, error) {
	head, tail, _ := bytes.Cut(data, []byte("\n"))
	var h keptHead
	if err := json.Unmarshal(head, &h); err != nil {
		return nil, err
	}
	texts := textsOf(&h.Package)
	if len(texts) != len(h.Texts) {
		return nil, errKept
	}
	rest := string(tail)
	for i, n := range h.Texts {
		if n < 0 || n > len(rest) {
			return nil, errKept
		}
		*texts[i], rest = rest[:n], rest[n:]
	}
	return &h.Package, nil
}
