package secret_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/internal/secret"
)

func TestNamed(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"apiKey": true, "GITHUB_TOKEN": true, "client-secret": true, "x.password": true, "Authorization": true,
		"key": false, "maxTokens": false, "model": false, "": false,
	} {
		if got := secret.Named(name); got != want {
			t.Errorf("Named(%q) = %v", name, got)
		}
	}
}

func TestInURL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"https://h/x":                      nil,
		"https://u:p%40ss@h/":              {"p%40ss", "p@ss"},
		"https://tok@h/":                   {"tok", "tok"},
		"https://h/?key=a%2Fb&x=1":         {"a%2Fb", "a/b"},
		"https://h/?api_key=abc&token=%zz": {"abc", "abc", "%zz"},
		"https://h/?page=2":                nil,
		"no address":                       nil,
		"--token=x":                        nil,
	} {
		if got := secret.InURL(text); !slices.Equal(got, want) {
			t.Errorf("InURL(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestWithoutSecrets(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://u:p@h:1/v1?k=x#y": "https://h:1/v1",
		"u:p@h":                    "h",
		"localhost:1/v1":           "localhost:1/v1",
		"https://u:word?more@h/v1": "an address that is not valid",
		"https:///u:p@h/v1":        "an address that is not valid",
		"http:/u:p@h":              "an address that is not valid",
		"u:p@h/v1?x=http://y":      "an address that is not valid",
	} {
		if got := secret.WithoutSecrets(address); got != want {
			t.Errorf("WithoutSecrets(%q) = %q, want %q", address, got, want)
		}
	}
}

func TestInArgs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"--token=abc":              {"abc"},
		"--api-key abc -v":         {"abc"},
		"-v --key":                 nil,
		"GITHUB_TOKEN=abc":         {"abc"},
		"--url=https://u:p@h/":     {"p", "p"},
		"https://h/?token=x":       {"x", "x"},
		"run key value":            nil,
		"--max-tokens 5 --model x": nil,
	} {
		if got := secret.InArgs(strings.Split(text, " ")); !slices.Equal(got, want) {
			t.Errorf("InArgs(%q) = %q, want %q", text, got, want)
		}
	}
	if got := secret.InArgs([]string{"echo my token=x is"}); got != nil {
		t.Errorf("a script: %q", got)
	}
}

func FuzzInURL(f *testing.F) {
	for _, seed := range []string{"https://u:p@h/?key=x", "https://h/?token=%", "://", "http://%zz@h"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range secret.InURL(text) {
			if s == "" {
				t.Errorf("InURL(%q) holds an empty secret", text)
			}
		}
	})
}
