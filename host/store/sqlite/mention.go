package sqlite

// hashLength is that of store.Hash.
const hashLength = 64

// mentions calls f with whatever in the data could be a reference of a part to a blob: every hash. More is found than is
// meant, which keeps a blob too many, never one too few.
func mentions(data []byte, f func(hash []byte)) {
	run := 0 // how many hexadecimal digits stand before i
	for i, c := range data {
		if '0' <= c && c <= '9' || 'a' <= c && c <= 'f' {
			if run++; run >= hashLength {
				f(data[i+1-hashLength : i+1])
			}
			continue
		}
		run = 0
	}
}
