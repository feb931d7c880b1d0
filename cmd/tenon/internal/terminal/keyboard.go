package terminal

import (
	"bytes"
	"os"
)

// Keyboard reads stdin piece by piece, for a question to the user or the prompt of a chat. Use it from one goroutine.
//
// A read of a terminal or a pipe cannot be canceled. It ends with input, which the current reader gets, or with the process.
type Keyboard struct {
	In     *os.File
	Pieces chan Piece

	Buf     []byte // unused input
	Reading bool   // a goroutine is reading a piece
	Ended   bool   // stdin has ended
}

// Piece is the result of one read of stdin.
type Piece struct {
	data []byte
	err  error
}

// MaxLine is the maximum length of a read, in bytes. A terminal returns one line, which is not longer.
const MaxLine = 4096

// NewKeyboard returns a keyboard that reads from in.
func NewKeyboard(in *os.File) *Keyboard { return &Keyboard{In: in, Pieces: make(chan Piece, 1)} }

// Want starts to read a piece, which is sent on Pieces, unless a read is already running.
func (k *Keyboard) Want() {
	if k.Reading || k.Ended {
		return
	}
	k.Reading = true
	go func() { // ends with input or the process
		data := make([]byte, MaxLine)
		n, err := k.In.Read(data)
		k.Pieces <- Piece{data[:n], err}
	}()
}

// Took adds a received piece to Buf.
func (k *Keyboard) Took(p Piece) {
	k.Reading = false
	k.Buf = append(k.Buf, p.data...)
	k.Ended = k.Ended || p.err != nil
}

// Line removes a line from Buf and returns it without its line break. The last line of stdin may lack one.
func (k *Keyboard) Line() (string, bool) {
	i := bytes.IndexByte(k.Buf, '\n')
	switch {
	case i >= 0:
		line := string(bytes.TrimSuffix(k.Buf[:i], []byte("\r")))
		k.Buf = k.Buf[i+1:]
		return line, true
	case k.Ended && len(k.Buf) > 0:
		line := string(k.Buf)
		k.Buf = nil
		return line, true
	}
	return "", false
}

// Drop discards the input so far, except the input of a running read.
func (k *Keyboard) Drop() {
	k.Buf = nil
	if !k.Reading {
		DropInput(k.In)
	}
}
