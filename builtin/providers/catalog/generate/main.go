// Command generate writes the catalog's data, providers.txt and models.zip, from a copy of models.dev's api.json, and from recent.json, which has
// models that were newer than the copy:
//
//	go run ./builtin/providers/catalog/generate api.json builtin/providers/catalog
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/builtin/providers/catalog"
	"github.com/tenonhq/tenon/internal/npm"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: generate api.json directory")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	all, err := catalog.ReadAPI(data, func(string) bool { return true })
	if err != nil {
		return err
	}
	maps.DeleteFunc(all, func(_ string, p catalog.Entry) bool { return npm.Protocol(p.NPM) == "" }) // no wire format for its servers
	var recent map[string]map[string]catalog.EntryModel
	if data, err = os.ReadFile(filepath.Join(to, "recent.json")); err == nil {
		err = json.Unmarshal(data, &recent)
	}
	if err != nil {
		return err
	}
	for id, models := range recent {
		maps.Copy(models, all[id].Models)
		maps.Copy(all[id].Models, models)
	}
	var lines strings.Builder
	for _, id := range slices.Sorted(maps.Keys(all)) {
		p := all[id]
		fmt.Fprintf(&lines, "%s\t%s\t%s\t%s\t%s\n", id, p.Name, p.NPM, cmp.Or(strings.TrimSuffix(p.API, "/"), "-"), cmp.Or(strings.Join(keys(p.Env), ","), "-"))
		maps.DeleteFunc(p.Models, func(_ string, m catalog.EntryModel) bool { return m.Status == "deprecated" })
	}
	archive, err := catalog.Pack(all)
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(to, "models.zip"), archive, 0o644),
		os.WriteFile(filepath.Join(to, "providers.txt"), []byte(lines.String()), 0o644),
	)
}

// keys returns the variables that hold a key. Variables of other programs are left out: commands of the model need them, and the
// variables of keys are hidden from commands.
func keys(env []string) []string {
	return slices.DeleteFunc(env, func(name string) bool {
		return !strings.Contains(name, "KEY") && !strings.Contains(name, "TOKEN") || strings.HasPrefix(name, "AWS_") || strings.HasPrefix(name, "GIT") || name == "CLOUDFLARE_API_TOKEN"
	})
}
