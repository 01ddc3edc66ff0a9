;; The passes of a search over all slots, called by score-passes.ts. `npm run generate` assembles
;; the module.
(module
  (import "m" "m" (memory 1))

  ;; For slots $slot to $end - 1: writes the sum that bounds the score (minus infinity if the slot
  ;; is not visible), and updates the highest sum of each session and the highest dot product.
  ;; Writes the slots with a sum above $least; returns their number.
  (func (export "sum")
    (param $slot i32) (param $end i32) (param $lexical i32) (param $neighbour i32)
    (param $dots i32) (param $visible i32) (param $sessions i32) (param $sums i32)
    (param $session_maxima i32) (param $dot_max i32) (param $selected i32)
    (param $per_dot f64) (param $least f64)
    (result i32)
    (local $at4 i32) (local $at8 i32) (local $dot i32) (local $highest i32) (local $session i32)
    (local $out i32) (local $sum f64)
    (local.set $out (local.get $selected))
    (local.set $highest (i32.load (local.get $dot_max)))
    (block $done
      (loop $slots
        (br_if $done (i32.ge_u (local.get $slot) (local.get $end)))
        (local.set $at4 (i32.shl (local.get $slot) (i32.const 2)))
        (local.set $at8 (i32.shl (local.get $slot) (i32.const 3)))
        (local.set $sum (f64.const -inf))
        (if (i32.load8_u (i32.add (local.get $visible) (local.get $slot)))
          (then
            (local.set $dot (i32.load (i32.add (local.get $dots) (local.get $at4))))
            (local.set $dot
              (select (local.get $dot) (i32.const 0) (i32.gt_s (local.get $dot) (i32.const 0))))
            (local.set $highest
              (select (local.get $dot) (local.get $highest)
                (i32.gt_s (local.get $dot) (local.get $highest))))
            (local.set $sum
              (f64.add
                (f64.add
                  (f64.load (i32.add (local.get $lexical) (local.get $at8)))
                  (f64.load (i32.add (local.get $neighbour) (local.get $at8))))
                (f64.mul (local.get $per_dot) (f64.convert_i32_s (local.get $dot)))))
            (local.set $session (i32.load (i32.add (local.get $sessions) (local.get $at4))))
            (if (i32.ge_s (local.get $session) (i32.const 0))
              (then
                (local.set $session
                  (i32.add (local.get $session_maxima)
                    (i32.shl (local.get $session) (i32.const 3))))
                (if (f64.gt (local.get $sum) (f64.load (local.get $session)))
                  (then (f64.store (local.get $session) (local.get $sum))))))))
        (f64.store (i32.add (local.get $sums) (local.get $at8)) (local.get $sum))
        (i32.store (local.get $out) (local.get $slot))
        (local.set $out
          (i32.add (local.get $out)
            (i32.shl (f64.gt (local.get $sum) (local.get $least)) (i32.const 2))))
        (local.set $slot (i32.add (local.get $slot) (i32.const 1)))
        (br $slots)))
    (i32.store (local.get $dot_max) (local.get $highest))
    (i32.shr_u (i32.sub (local.get $out) (local.get $selected)) (i32.const 2)))

  ;; Writes the slots from $slot to $end - 1 whose sum is at least the threshold of their session.
  ;; The threshold of slots without a session comes first. Returns the number of slots written.
  (func (export "select")
    (param $slot i32) (param $end i32) (param $sums i32) (param $sessions i32)
    (param $leasts i32) (param $selected i32)
    (result i32)
    (local $out i32)
    (local.set $out (local.get $selected))
    (block $done
      (loop $slots
        (br_if $done (i32.ge_u (local.get $slot) (local.get $end)))
        (i32.store (local.get $out) (local.get $slot))
        (local.set $out
          (i32.add (local.get $out)
            (i32.shl
              (f64.ge
                (f64.load (i32.add (local.get $sums) (i32.shl (local.get $slot) (i32.const 3))))
                (f64.load offset=8
                  (i32.add (local.get $leasts)
                    (i32.shl
                      (i32.load (i32.add (local.get $sessions)
                        (i32.shl (local.get $slot) (i32.const 2))))
                      (i32.const 3)))))
              (i32.const 2))))
        (local.set $slot (i32.add (local.get $slot) (i32.const 1)))
        (br $slots)))
    (i32.shr_u (i32.sub (local.get $out) (local.get $selected)) (i32.const 2)))
)
