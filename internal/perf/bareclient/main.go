// Command bareclient is the yardstick of process start: a Go program that sends one chat request to the URL
// in its first argument, reads the answer to its end and does nothing else.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

const body = `{"model":"fake-model","stream":true,"messages":[{"role":"user","content":"hello"}]}`

func main() {
	if err := ask(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func ask(url string) error {
	resp, err := http.Post(url+"/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}
