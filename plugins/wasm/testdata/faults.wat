;; Hook n goes wrong in the way the label n of the table below says.
(module
  (import "tenon_v1" "input" (func $input (param i32)))
  (import "tenon_v1" "output" (func $output (param i32 i32)))
  (import "tenon_v1" "log" (func $log (param i32 i32 i32)))
  (import "tenon_v1" "host_call" (func $host_call (param i32 i32 i32 i32) (result i64)))
  (import "tenon_v1" "host_read" (func $host_read (param i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (type $call (func (param i32) (result i32)))
  (table $t 4 funcref)
  (elem (i32.const 0) $self $fib)
  (memory (export "memory") 2)
  (data (i32.const 0) "it went wrong")
  (data (i32.const 64) "{\"verdict\":\"allow\"}")
  (data (i32.const 128) "this is {no JSON")
  (data (i32.const 192) "a line of the log")
  (data (i32.const 256) "\20\01\00\00\05\00\00\00")
  (data (i32.const 288) "hello\0a")
  (global $deep (mut i32) (i32.const 0))
  (func $self (type $call) (call_indirect (type $call) (i32.add (local.get 0) (i32.const 1)) (i32.const 0)))
  (func $fib (type $call)
    (if (result i32) (i32.lt_u (local.get 0) (i32.const 2)) (then (local.get 0)) (else
      (i32.add (call $fib (i32.sub (local.get 0) (i32.const 1))) (call $fib (i32.sub (local.get 0) (i32.const 2)))))))
  (func $tail (param i32) (result i32) (return_call $tail (i32.add (local.get 0) (i32.const 1))))
  (func $grow (loop $l (br_if $l (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))))
  (func (export "tenon_abi") (result i32) (i32.const 0x10000))
  (func (export "tenon_call") (param $op i32) (param $len i32) (result i32)
    (if (i32.lt_u (local.get $op) (i32.const 0x1000)) (then (return (i32.const 2))))
    (block $b27 (block $b26 (block $b25 (block $b24 (block $b23 (block $b22 (block $b21 (block $b20
    (block $b19 (block $b18 (block $b17 (block $b16 (block $b15 (block $b14 (block $b13 (block $b12 (block $b11 (block $b10
    (block $b9 (block $b8 (block $b7 (block $b6 (block $b5 (block $b4 (block $b3 (block $b2 (block $b1 (block $b0
      (br_table $b0 $b1 $b2 $b3 $b4 $b5 $b6 $b7 $b8 $b9 $b10 $b11 $b12 $b13 $b14 $b15 $b16 $b17 $b18 $b19 $b20 $b21 $b22 $b23 $b24 $b25 $b26 $b27
        (i32.sub (local.get $op) (i32.const 0x1000))))
    ;; 0: fine
    (call $output (i32.const 64) (i32.const 19)) (return (i32.const 0)))
    ;; 1: trap
    (unreachable))
    ;; 2: endless loop
    (loop $l (br $l)))
    ;; 3: recursion without a loop that takes for ever
    (return (call $fib (i32.const 60))))
    ;; 4: recursion without an end, through a table
    (return (call $self (i32.const 0))))
    ;; 5: tail calls without an end
    (return (call $tail (i32.const 0))))
    ;; 6: an error with a text
    (call $output (i32.const 0) (i32.const 13)) (return (i32.const 1)))
    ;; 7: an answer that is no JSON
    (call $output (i32.const 128) (i32.const 16)) (return (i32.const 0)))
    ;; 8: an output outside of the memory
    (call $output (i32.const 131000) (i32.const 1000)) (return (i32.const 0)))
    ;; 9: an output of a negative length
    (call $output (i32.const 0) (i32.const -1)) (return (i32.const 0)))
    ;; 10: an output at a negative place
    (call $output (i32.const -8) (i32.const 16)) (return (i32.const 0)))
    ;; 11: an input outside of the memory
    (call $input (i32.const 131070)) (return (i32.const 2)))
    ;; 12: an output that is too large
    (drop (memory.grow (i32.const 200))) (call $output (i32.const 0) (i32.const 9000000)) (return (i32.const 0)))
    ;; 13: a result that means nothing
    (return (i32.const 99)))
    ;; 14: a memory bomb
    (call $grow) (i32.store (i32.const 0x7fffff00) (i32.const 1)) (return (i32.const 2)))
    ;; 15: a flood of the log
    (loop $l (call $log (i32.const 0) (i32.const 192) (i32.const 17)) (br $l)))
    ;; 16: a log line outside of the memory
    (call $log (i32.const 0) (i32.const -16) (i32.const 32)) (return (i32.const 2)))
    ;; 17: host_call with a name outside of the memory
    (drop (call $host_call (i32.const -4) (i32.const 8) (i32.const 0) (i32.const 0))) (return (i32.const 2)))
    ;; 18: host_read outside of the memory
    (drop (call $host_call (i32.const 0) (i32.const 2) (i32.const 0) (i32.const 0))) (call $host_read (i32.const 131071)) (return (i32.const 2)))
    ;; 19: an exit
    (call $exit (i32.const 3)))
    ;; 20: filling and copying large memory for ever
    (call $grow) (loop $l
      (memory.fill (i32.const 0) (i32.const 7) (i32.mul (memory.size) (i32.const 65536)))
      (memory.copy (i32.const 1) (i32.const 0) (i32.sub (i32.mul (memory.size) (i32.const 65536)) (i32.const 1))) (br $l)))
    ;; 21: a table bomb
    (loop $l (br_if $l (i32.ne (table.grow $t (ref.null func) (i32.const 1000)) (i32.const -1)))) (return (i32.const 99)))
    ;; 22: asking for random numbers for ever
    (call $grow) (loop $l (drop (call $random (i32.const 4096) (i32.const 60000000))) (br $l)))
    ;; 23: a flood of stdout
    (loop $l (drop (call $fd_write (i32.const 1) (i32.const 256) (i32.const 1) (i32.const 512))) (br $l)))
    ;; 24: an indirect call of nothing
    (return (call_indirect (type $call) (i32.const 0) (i32.const 3))))
    ;; 25: a division by zero
    (return (i32.div_u (i32.const 1) (i32.const 0))))
    ;; 26: host_call without an end
    (loop $l (drop (call $host_call (i32.const 0) (i32.const 2) (i32.const 0) (i32.const 0))) (br $l)))
    ;; 27: an error without a text
    (return (i32.const 1))))
