package jsonline

// Encode returns the line of a message.
func Encode(m *Message) ([]byte, error) { return m.encode(nil) }
