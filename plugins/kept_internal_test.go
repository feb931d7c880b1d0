package plugins

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/sdk"
)

func TestKept(t *testing.T) {
	t.Parallel()
	p := &manifest.Package{Root: "/r", Description: sdk.Description{
		Name: "p", Agents: []sdk.Agent{{Name: "a", Prompt: "one\ntwo"}, {Name: "b"}}, Commands: []sdk.Command{{Name: "c", Template: "three"}},
	}}
	data, err := encodeKept(p)
	if err != nil {
		t.Fatal(err)
	}
	again, err := decodeKept(data)
	if diff := cmp.Diff(p, again); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if p.Description.Agents[0].Prompt == "" {
		t.Error("encoding changed the package")
	}
}

// FuzzKept: what does not fit is an error.
func FuzzKept(f *testing.F) {
	f.Add([]byte(`{"package":{"Description":{"agents":[{"name":"a"}]}},"texts":[3]}` + "\nabc"))
	f.Add([]byte(`{"texts":[-1]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := decodeKept(data)
		if err != nil {
			return
		}
		first, err := encodeKept(p)
		if err != nil {
			t.Skip()
		}
		if again, err := decodeKept(first); err != nil || len(textsOf(again)) != len(textsOf(p)) {
			t.Errorf("%s: %v", first, err)
		}
	})
}
