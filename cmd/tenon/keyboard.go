package main

import (
	"bytes"
	"os"
)

// keyboard reads stdin, a piece at a time, for whoever wants input at the moment: a question, or the prompt of a
// conversation. It is used from one goroutine.
//
// A read of a terminal or a pipe cannot be called off: it ends with input, which goes to whoever wants it then, or with
// the process.
type keyboard struct {
	in     *os.File
	pieces chan piece

	buf     []byte // what was read and is not used yet
	reading bool   // a goroutine reads a piece
	ended   bool   // stdin has ended
}

// piece is what one read of stdin gave.
type piece struct {
	data []byte
	err  error
}

// pieceSize is how much one read takes at most, in bytes. A terminal gives a line of up to 4096.
const pieceSize = 4096

func newKeyboard(in *os.File) *keyboard { return &keyboard{in: in, pieces: make(chan piece, 1)} }

// want lets a piece be read, which comes on pieces, unless one is on its way.
func (k *keyboard) want() {
	if k.reading || k.ended {
		return
	}
	k.reading = true
	go func() { // ends with input or the process
		data := make([]byte, pieceSize)
		n, err := k.in.Read(data)
		k.pieces <- piece{data[:n], err}
	}()
}

// took adds a piece to what there is to use.
func (k *keyboard) took(p piece) {
	k.reading = false
	k.buf = append(k.buf, p.data...)
	k.ended = k.ended || p.err != nil
}

// line takes a line, without its end. The last line of stdin need not have one.
func (k *keyboard) line() (string, bool) {
	i := bytes.IndexByte(k.buf, '\n')
	switch {
	case i >= 0:
		line := string(bytes.TrimSuffix(k.buf[:i], []byte("\r")))
		k.buf = k.buf[i+1:]
		return line, true
	case k.ended && len(k.buf) > 0:
		line := string(k.buf)
		k.buf = nil
		return line, true
	}
	return "", false
}

// drop forgets what was typed so far. A read that is on its way is not hurried: what it brings counts.
func (k *keyboard) drop() {
	k.buf = nil
	if !k.reading {
		dropInput(k.in)
	}
}
