package openai

import (
	"bytes"
	"unicode/utf8"
)

// chunkShape makes the long run of text deltas in a stream cheap. The chunks of one answer differ in
// nothing but the text, so after one has been decoded in full, the next ones are compared with it: equal
// bytes before and behind a string literal mean the same chunk with another text. Whatever is not equal
// is decoded in full. The zero value is ready.
type chunkShape struct {
	before, after []byte
}

// The only places where the text may stand. Behind them, in a chunk that was decoded, it is the content
// of the delta and nothing else.
var textPlaces = [][]byte{
	[]byte(`"delta":{"content":"`),
	[]byte(`"delta":{"role":"assistant","content":"`),
}

// learn takes the shape of a chunk that carries text and nothing else.
func (s *chunkShape) learn(data []byte, chunk *chatChunk) {
	s.before, s.after = nil, nil
	if len(chunk.Choices) != 1 || present(chunk.Usage) || present(chunk.Error) || chunk.Groq != nil {
		return
	}
	choice := &chunk.Choices[0]
	if choice.Index != 0 || choice.FinishReason != "" || choice.Message != nil || choice.Delta == nil ||
		present(choice.Error) || present(choice.Usage) {
		return
	}
	delta := choice.Delta
	if delta.ReasoningContent != "" || present(delta.Reasoning) || delta.ToolCalls != nil || delta.ReasoningDetails != nil ||
		delta.Refusal != "" || !plainString(delta.Content) {
		return
	}
	for _, place := range textPlaces {
		if bytes.Count(data, place) != 1 {
			continue
		}
		start := bytes.Index(data, place) + len(place)
		end := start + len(delta.Content) - len(`""`)
		if end >= len(data) || !bytes.Equal(data[start-1:end+1], delta.Content) {
			continue
		}
		s.before, s.after = bytes.Clone(data[:start]), bytes.Clone(data[end:])
		return
	}
}

// text returns the text of a chunk that has the shape.
func (s *chunkShape) text(data []byte) (string, bool) {
	if s.before == nil || len(data) < len(s.before)+len(s.after) ||
		!bytes.HasPrefix(data, s.before) || !bytes.HasSuffix(data, s.after) {
		return "", false
	}
	middle := data[len(s.before) : len(data)-len(s.after)]
	if !plain(middle) {
		return "", false
	}
	return string(middle), true
}

// plainString reports whether raw is a JSON string without escapes.
func plainString(raw []byte) bool {
	return len(raw) >= 2 && raw[0] == '"' && plain(raw[1:len(raw)-1])
}

// plain reports whether b stands for itself inside a JSON string.
func plain(b []byte) bool {
	ascii := true
	for _, c := range b {
		if c < ' ' || c == '"' || c == '\\' {
			return false
		}
		ascii = ascii && c < utf8.RuneSelf
	}
	return ascii || utf8.Valid(b)
}
