module example.com/wasm-fetch

go 1.26.0

require github.com/tenonhq/tenon v0.1.0
