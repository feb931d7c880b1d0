(module (memory (export "memory") 1) (func (export "tenon_abi") (result i32) (i32.const 0x10000)))
