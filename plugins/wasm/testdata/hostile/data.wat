;; Its data segments are not in the order of their offsets: the one at 250 comes between the one at 300 and the one at 400.
(module
  (import "tenon_v1" "output" (func $output (param i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 300) "{\"name\":\"dat\",\"hooks\":[{\"point\":\"chat.params\",\"writes\":[\"/temperature\"],\"timeout\":500}]}")
  (data (i32.const 250) "X")
  (data (i32.const 400) "Y")
  (func (export "tenon_abi") (result i32) (i32.const 0x10000))
  (func (export "tenon_call") (param i32 i32) (result i32)
    (call $output (i32.const 300) (i32.const 88)) (i32.const 0)))
