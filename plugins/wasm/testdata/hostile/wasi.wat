;; Calls functions of WASI that take long, without an end. Hook n does what its label says; describe does what hook 0 does.
(module
  (import "tenon_v1" "output" (func $output (param i32 i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_open" (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "clock_time_get" (func $clock (param i32 i64 i32) (result i32)))
  (type $poller (func (param i32 i32 i32 i32) (result i32)))
  (table 1 funcref)
  (elem (i32.const 0) $poll)
  (memory (export "memory") 800)
  (data (i32.const 0) "{\"verdict\":\"allow\",\"reason\":\"aa\"}")
  (func $many (loop $l (drop (call $poll (i32.const 65536) (i32.const 30000000) (i32.const 500000) (i32.const 4096))) (br $l)))
  (func (export "tenon_abi") (result i32) (i32.const 0x10000))
  (func (export "tenon_call") (param $op i32) (param $len i32) (result i32)
    (local $p i32)
    (if (i32.eq (local.get $op) (i32.const 1)) (then (return (i32.const 2))))
    (if (i32.eqz (local.get $op)) (then (call $many)))
    (block $b5 (block $b4 (block $b3 (block $b2 (block $b1 (block $b0
      (br_table $b0 $b1 $b2 $b3 $b4 $b5 (i32.sub (local.get $op) (i32.const 0x1000))))
    ;; 0: polls half a million subscriptions
    (call $many))
    ;; 1: the same through a table
    (loop $l (drop (call_indirect (type $poller) (i32.const 65536) (i32.const 30000000) (i32.const 500000) (i32.const 4096) (i32.const 0))) (br $l)))
    ;; 2: writes six million empty buffers
    (loop $l (drop (call $write (i32.const 1) (i32.const 65536) (i32.const 6000000) (i32.const 4096))) (br $l)))
    ;; 3: opens a path of fifty million bytes
    (memory.fill (i32.const 65536) (i32.const 47) (i32.const 50000000))
    (loop $l (drop (call $open (i32.const 3) (i32.const 0) (i32.const 65536) (i32.const 50000000) (i32.const 0) (i64.const 0) (i64.const 0) (i32.const 0) (i32.const 4096))) (br $l)))
    ;; 4: asks for the time
    (loop $l (drop (call $clock (i32.const 0) (i64.const 0) (i32.const 4096))) (br $l)))
    ;; 5: answers with the error numbers of 0, 2 and 3 as letters, "A" for 0, and that of a poll it may make
    (i32.store8 (i32.const 29) (i32.add (i32.const 65) (call $poll (i32.const 65536) (i32.const 30000000) (i32.const 1025) (i32.const 4096))))
    (i32.store8 (i32.const 30) (i32.add (i32.const 65) (call $write (i32.const 1) (i32.const 65536) (i32.const 1024) (i32.const 4096))))
    (call $output (i32.const 0) (i32.const 33)) (return (i32.const 0))))
