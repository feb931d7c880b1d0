(module (memory (export "memory") 1) (func (export "_start")) (func (export "tenon_abi") (result i32) (unreachable)) (func (export "tenon_call") (param i32 i32) (result i32) (i32.const 2)))
