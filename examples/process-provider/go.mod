module example.com/process-provider

go 1.26.0

require github.com/tenonhq/tenon v0.1.0
