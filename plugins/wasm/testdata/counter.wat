;; Keeps a counter in its memory. Each hook answers with the verdict "allow" and the number of calls as the reason, "a" for the first.
(module
  (import "tenon_v1" "output" (func $output (param i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "{\"verdict\":\"allow\",\"reason\":\"`\"}")
  (func (export "tenon_abi") (result i32) (i32.const 0x10000))
  (func (export "tenon_call") (param $op i32) (param $len i32) (result i32)
    (if (i32.eq (local.get $op) (i32.const 1)) (then (return (i32.const 2))))
    (i32.store8 (i32.const 29) (i32.add (i32.load8_u (i32.const 29)) (i32.const 1)))
    (call $output (i32.const 0) (i32.const 32))
    (i32.const 0)))
