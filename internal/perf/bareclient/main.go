// Command bareclient is what tenon is compared with: a Go program that sends chat requests to the URL in its first argument, reads each
// answer to its end and does nothing else.
//
//	bareclient URL                       one request
//	bareclient URL FILE read NAME        the requests of FILE, a line each; before each but the first it reads the file NAME
//	bareclient URL FILE N COMMAND        likewise; it runs the command N times in parallel with bash
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"sync"
)

const body = `{"model":"fake-model","stream":true,"messages":[{"role":"user","content":"hello"}]}`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 1 {
		return ask(args[0], []byte(body))
	}
	requests, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	for i, request := range bytes.Split(bytes.TrimSpace(requests), []byte("\n")) {
		if i > 0 {
			if err := step(args[2], args[3]); err != nil {
				return err
			}
		}
		if err := ask(args[0], request); err != nil {
			return err
		}
	}
	return nil
}

// step does what the tool calls of a step do.
func step(kind, what string) error {
	if kind == "read" {
		_, err := os.ReadFile(what)
		return err
	}
	n, err := strconv.Atoi(kind)
	if err != nil {
		return err
	}
	errs := make(chan error, n)
	var all sync.WaitGroup
	for range n {
		all.Go(func() { errs <- exec.Command("bash", "-c", what).Run() })
	}
	all.Wait()
	for range n {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}

func ask(url string, body []byte) error {
	resp, err := http.Post(url+"/chat/completions", "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, bufio.NewReader(resp.Body))
	return err
}
