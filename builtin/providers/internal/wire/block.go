package wire

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/tenonhq/tenon/sdk"
)

// Block is a content block of an answer whose events name their block: text, reasoning or a tool call.
type Block struct {
	Kind string // the stream event of its deltas; empty: unknown
	Call *Call  // nil: not a call
	// Input are the arguments of the call if it has no deltas.
	Input json.RawMessage
	// Metadata is passed on when the block ends. See Seal.
	Metadata sdk.Object

	answer *Answer
	number int
	id     string // of its latest kind
}

// Block returns the open block that the server numbers index, and opens it on first use.
func (a *Answer) Block(index int) *Block {
	b := a.open[index]
	if b == nil {
		b = a.NewBlock()
		if a.open == nil {
			a.open = map[int]*Block{}
		}
		a.open[index] = b
	}
	return b
}

// EndBlock ends the block that the server numbers index, if it is open.
func (a *Answer) EndBlock(index int) {
	if b := a.open[index]; b != nil {
		delete(a.open, index)
		b.end()
	}
}

// NewBlock returns a block of a format that finds its blocks in another way.
func (a *Answer) NewBlock() *Block {
	if a.blocks >= MaxItems {
		a.Fail(fmt.Errorf("%w: more than %d blocks", sdk.ErrAnswerLimit, MaxItems))
	}
	a.blocks++
	return &Block{answer: a, number: a.blocks}
}

// Say passes on a delta of text or reasoning.
func (b *Block) Say(kind, text string, metadata sdk.Object) {
	if b.Kind != kind || b.id == "" {
		b.Kind, b.id = kind, kind+"-"+strconv.Itoa(b.number)
	}
	if text != "" || metadata != nil {
		b.answer.emit(sdk.StreamEvent{Type: kind, ID: b.id, Text: text, Metadata: metadata})
	}
}

// Begin announces the block's tool call.
func (b *Block) Begin(id, tool string) {
	b.Kind, b.Call = sdk.StreamToolCall, b.answer.NewCall()
	b.Call.ID, b.Call.Tool = id, tool
	b.answer.Arguments(b.Call, "")
}

// Seal appends a piece to a text in the metadata, such as a signature.
func (b *Block) Seal(key, piece string) {
	if piece == "" {
		return
	}
	if b.Metadata == nil {
		b.Metadata = sdk.Object{}
	}
	text, _ := b.Metadata[key].([]byte)
	b.Metadata[key] = append(text, piece...)
	b.answer.Keep(len(piece))
}

// end passes on the metadata, and the arguments of a call without deltas.
func (b *Block) end() {
	for key, value := range b.Metadata {
		if text, ok := value.([]byte); ok {
			b.Metadata[key] = string(text)
		}
	}
	if b.Call == nil {
		b.Say(b.Kind, "", b.Metadata)
	} else if !b.Call.Args && Present(b.Input) {
		b.answer.Arguments(b.Call, string(b.Input))
	}
}
