package plugins_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tenonhq/tenon/plugins"
	"github.com/tenonhq/tenon/plugins/pins"
	"github.com/tenonhq/tenon/plugins/source"
)

// BenchmarkLoad loads ten approved packages that did not change.
func BenchmarkLoad(b *testing.B) {
	p := newPlace(b)
	for i := range 10 {
		f := wasmPackage("p"+strconv.Itoa(i), `"capabilities": [{"name": "kv"}], "tools": [{"id": "t", "description": "d", "parameters": {"type": "object", "properties": {"x": {"type": "string"}}}}]`)
		f["README.md"], f["LICENSE"] = "text", "text"
		p.write("config/plugins/p"+strconv.Itoa(i), f)
	}
	p.approve()
	settle()
	p.load()
	b.ReportAllocs()
	for b.Loop() {
		loaded, err := plugins.New(p.options).Load(b.Context())
		if err != nil || len(running(loaded)) != 10 {
			b.Fatal(err, states(loaded))
		}
	}
}

// settle waits until the digests of files that were just written are remembered.
func settle() {
	settled := time.Now().Add(2100 * time.Millisecond)
	for time.Now().Before(settled) {
		<-time.After(time.Until(settled))
	}
}

// BenchmarkInstalled loads 50 installed plugins as a start does. Each is as large as the average of those that people publish: two
// skills, a command, two agents and a few other files.
func BenchmarkInstalled(b *testing.B) {
	p := newPlace(b)
	vault := plugins.New(p.options).Vault()
	lock := &pins.File{}
	for i := range 50 {
		name := "p" + strconv.Itoa(i)
		text := "---\nname: NAME\ndescription: Does something.\n---\n" + strings.Repeat("Some words. ", 300)
		dir := p.write("src/"+name, files{
			".claude-plugin/plugin.json": `{"name":"` + name + `","version":"1.0.0","description":"d","author":{"name":"a"}}`, "README.md": text, "LICENSE": text,
			"skills/one/SKILL.md": strings.ReplaceAll(text, "NAME", "one-"+name), "skills/one/scripts/run.sh": "#!/bin/sh\n", "skills/one/references/a.md": text,
			"skills/two/SKILL.md": strings.ReplaceAll(text, "NAME", "two-"+name), "commands/c.md": text,
			"agents/a.md": strings.ReplaceAll(text, "NAME", "a"), "agents/b.md": strings.ReplaceAll(text, "NAME", "b"),
		})
		digest, err := vault.Digest(b.Context(), dir)
		if err == nil {
			_, err = vault.Seal(b.Context(), dir, digest)
		}
		if err != nil {
			b.Fatal(err)
		}
		lock = lock.With(pins.Plugin{Name: name, Pin: source.Pin{Ref: "npm:" + name, Version: "1.0.0"}, Digest: digest})
	}
	if err := os.WriteFile(p.path("config/"+pins.Name), lock.Encode(), 0o600); err != nil {
		b.Fatal(err)
	}
	p.approve()
	settle()
	p.load()
	b.ReportAllocs()
	for b.Loop() {
		loaded, err := plugins.New(p.options).Load(b.Context())
		if err != nil || len(loaded.Skills) != 100 {
			b.Fatal(err, states(loaded))
		}
	}
}
