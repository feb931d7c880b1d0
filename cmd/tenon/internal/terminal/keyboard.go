package terminal

import (
	"bytes"
	"os"
)

// Keyboard reads stdin, a piece at a time, for whoever wants input at the moment: a question, or the prompt of a
// conversation. It is used from one goroutine.
//
// A read of a terminal or a pipe cannot be called off: it ends with input, which goes to whoever wants it then, or with
// the process.
type Keyboard struct {
	In     *os.File
	Pieces chan Piece

	Buf     []byte // what was read and is not used yet
	Reading bool   // a goroutine reads a piece
	Ended   bool   // stdin has ended
}

// Piece is what one read of stdin gave.
type Piece struct {
	data []byte
	err  error
}

// pieceSize is how much one read takes at most, in bytes. A terminal gives a line of up to 4096.
const pieceSize = 4096

func NewKeyboard(in *os.File) *Keyboard { return &Keyboard{In: in, Pieces: make(chan Piece, 1)} }

// Want lets a piece be read, which comes on pieces, unless one is on its way.
func (k *Keyboard) Want() {
	if k.Reading || k.Ended {
		return
	}
	k.Reading = true
	go func() { // ends with input or the process
		data := make([]byte, pieceSize)
		n, err := k.In.Read(data)
		k.Pieces <- Piece{data[:n], err}
	}()
}

// Took adds a piece to what there is to use.
func (k *Keyboard) Took(p Piece) {
	k.Reading = false
	k.Buf = append(k.Buf, p.data...)
	k.Ended = k.Ended || p.err != nil
}

// Line takes a line, without its end. The last line of stdin need not have one.
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

// Drop forgets what was typed so far. A read that is on its way is not hurried: what it brings counts.
func (k *Keyboard) Drop() {
	k.Buf = nil
	if !k.Reading {
		DropInput(k.In)
	}
}
