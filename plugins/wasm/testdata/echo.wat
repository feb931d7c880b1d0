;; Answers every hook with one change, every tool with a result.
(module
  (import "tenon_v1" "input" (func $input (param i32)))
  (import "tenon_v1" "output" (func $output (param i32 i32)))
  (memory (export "memory") 3)
  (data (i32.const 0) "{\"changes\":[{\"pointer\":\"/args/x\",\"value\":1}]}")
  (data (i32.const 256) "{\"title\":\"t\",\"output\":\"done\"}")
  (data (i32.const 512) "{\"name\":\"echo\",\"version\":\"1.2.3\",\"hooks\":[{\"point\":\"tool.execute.before\"}]}")
  (func (export "tenon_abi") (result i32) (i32.const 0x10000))
  (func (export "tenon_call") (param $op i32) (param $len i32) (result i32)
    (if (i32.eqz (local.get $op)) (then
      (call $output (i32.const 512) (i32.const 75)) (return (i32.const 0))))
    (if (i32.eq (local.get $op) (i32.const 1)) (then (return (i32.const 2))))
    (call $input (i32.const 4096))
    (if (i32.ge_u (local.get $op) (i32.const 0x2000)) (then
      (call $output (i32.const 256) (i32.const 29)) (return (i32.const 0))))
    (call $output (i32.const 0) (i32.const 45))
    (i32.const 0)))
