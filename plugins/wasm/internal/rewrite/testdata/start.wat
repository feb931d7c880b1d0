;; A start function that loops, and a global it leaves behind.
(module
  (global $g (mut i32) (i32.const 0))
  (func $first (loop $l (global.set $g (i32.add (global.get $g) (i32.const 1))) (br_if $l (i32.lt_u (global.get $g) (i32.const 100000)))))
  (func (export "get") (param i32) (result i32) (global.get $g))
  (start $first))
