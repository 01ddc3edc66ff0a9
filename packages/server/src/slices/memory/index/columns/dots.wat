;; Dot products of int8 vectors with one or two queries; vector-column.ts calls it. `npm run generate`
;; assembles the module.
;;
;; i32x4.relaxed_dot_i8x16_i7x16_add_s multiplies 16 bytes and adds groups of four products to a
;; sum. Its result is the same on every machine if the second factor is from 0 to 127. So the query
;; is passed in two parts: its positive numbers, and the negative ones without their sign.
(module
  (import "m" "m" (memory 1 4096 shared))
  ;; The query alternates 16 bytes of one part and 16 bytes of the other. Four vectors are read at a
  ;; time: after the last vector, the first of the four is read again in place of the missing ones,
  ;; and up to three extra results are written.
  (func (export "dots")
    (param $first i32) (param $end i32) (param $query i32) (param $stride i32) (param $result i32)
    (local $second i32) (local $third i32) (local $fourth i32) (local $next i32)
    (local $part i32) (local $stop i32) (local $plus v128) (local $minus v128) (local $bytes v128)
    (local $plus1 v128) (local $plus2 v128) (local $plus3 v128) (local $plus4 v128)
    (local $minus1 v128) (local $minus2 v128) (local $minus3 v128) (local $minus4 v128)
    (block $done
      (loop $vectors
        (br_if $done (i32.ge_u (local.get $first) (local.get $end)))
        (local.set $second (i32.add (local.get $first) (local.get $stride)))
        (local.set $stop (local.get $second))
        (local.set $third (i32.add (local.get $second) (local.get $stride)))
        (local.set $fourth (i32.add (local.get $third) (local.get $stride)))
        (local.set $next (i32.add (local.get $fourth) (local.get $stride)))
        (local.set $second
          (select (local.get $second) (local.get $first)
            (i32.lt_u (local.get $second) (local.get $end))))
        (local.set $third
          (select (local.get $third) (local.get $first)
            (i32.lt_u (local.get $third) (local.get $end))))
        (local.set $fourth
          (select (local.get $fourth) (local.get $first)
            (i32.lt_u (local.get $fourth) (local.get $end))))
        (local.set $plus1 (v128.const i32x4 0 0 0 0))
        (local.set $plus2 (v128.const i32x4 0 0 0 0))
        (local.set $plus3 (v128.const i32x4 0 0 0 0))
        (local.set $plus4 (v128.const i32x4 0 0 0 0))
        (local.set $minus1 (v128.const i32x4 0 0 0 0))
        (local.set $minus2 (v128.const i32x4 0 0 0 0))
        (local.set $minus3 (v128.const i32x4 0 0 0 0))
        (local.set $minus4 (v128.const i32x4 0 0 0 0))
        (local.set $part (local.get $query))
        (loop $dimensions
          (local.set $plus (v128.load (local.get $part)))
          (local.set $minus (v128.load offset=16 (local.get $part)))

          (local.set $bytes (v128.load (local.get $first)))
          (local.set $plus1
            (i32x4.relaxed_dot_i8x16_i7x16_add_s
              (local.get $bytes) (local.get $plus) (local.get $plus1)))
          (local.set $minus1
            (i32x4.relaxed_dot_i8x16_i7x16_add_s
              (local.get $bytes) (local.get $minus) (local.get $minus1)))

          (local.set $bytes (v128.load (local.get $second)))
          (local.set $plus2
            (i32x4.relaxed_dot_i8x16_i7x16_add_s
              (local.get $bytes) (local.get $plus) (local.get $plus2)))
          (local.set $minus2
            (i32x4.relaxed_dot_i8x16_i7x16_add_s
              (local.get $bytes) (local.get $minus) (local.get $minus2)))

          (local.set $bytes (v128.load (local.get $third)))
          (local.set $plus3
            (i32x4.relaxed_dot_i8x16_i7x16_add_s
              (local.get $bytes) (local.get $plus) (local.get $plus3)))
          (local.set $minus3
            (i32x4.relaxed_dot_i8x16_i7x16_add_s
              (local.get $bytes) (local.get $minus) (local.get $minus3)))

          (local.set $bytes (v128.load (local.get $fourth)))
          (local.set $plus4
            (i32x4.relaxed_dot_i8x16_i7x16_add_s
              (local.get $bytes) (local.get $plus) (local.get $plus4)))
          (local.set $minus4
            (i32x4.relaxed_dot_i8x16_i7x16_add_s
              (local.get $bytes) (local.get $minus) (local.get $minus4)))

          (local.set $second (i32.add (local.get $second) (i32.const 16)))
          (local.set $third (i32.add (local.get $third) (i32.const 16)))
          (local.set $fourth (i32.add (local.get $fourth) (i32.const 16)))
          (local.set $part (i32.add (local.get $part) (i32.const 32)))
          (local.set $first (i32.add (local.get $first) (i32.const 16)))
          (br_if $dimensions (i32.lt_u (local.get $first) (local.get $stop))))
        (local.set $plus1 (i32x4.sub (local.get $plus1) (local.get $minus1)))
        (local.set $plus2 (i32x4.sub (local.get $plus2) (local.get $minus2)))
        (local.set $plus3 (i32x4.sub (local.get $plus3) (local.get $minus3)))
        (local.set $plus4 (i32x4.sub (local.get $plus4) (local.get $minus4)))
        ;; Each accumulator has four partial sums, which are transposed and added.
        (local.set $plus
          (i32x4.add
            (i8x16.shuffle 0 1 2 3 16 17 18 19 8 9 10 11 24 25 26 27
              (local.get $plus1) (local.get $plus2))
            (i8x16.shuffle 4 5 6 7 20 21 22 23 12 13 14 15 28 29 30 31
              (local.get $plus1) (local.get $plus2))))
        (local.set $minus
          (i32x4.add
            (i8x16.shuffle 0 1 2 3 16 17 18 19 8 9 10 11 24 25 26 27
              (local.get $plus3) (local.get $plus4))
            (i8x16.shuffle 4 5 6 7 20 21 22 23 12 13 14 15 28 29 30 31
              (local.get $plus3) (local.get $plus4))))
        (v128.store (local.get $result)
          (i32x4.add
            (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23
              (local.get $plus) (local.get $minus))
            (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31
              (local.get $plus) (local.get $minus))))
        (local.set $result (i32.add (local.get $result) (i32.const 16)))
        (local.set $first (local.get $next))
        (br $vectors))))

  ;; The same for two queries, so that each vector is read from memory once for both: the numbers of
  ;; the second query follow those of the first, 16 bytes of each part. Two vectors are read at a
  ;; time, and up to one extra result is written for each query.
  (func (export "dotsOfTwo")
    (param $first i32) (param $end i32) (param $query i32) (param $stride i32) (param $result i32)
    (param $result2 i32)
    (local $second i32) (local $next i32) (local $part i32) (local $stop i32)
    (local $plus v128) (local $minus v128) (local $plus2 v128) (local $minus2 v128)
    (local $bytes v128)
    (local $first_plus v128) (local $first_minus v128)
    (local $first_plus2 v128) (local $first_minus2 v128)
    (local $second_plus v128) (local $second_minus v128)
    (local $second_plus2 v128) (local $second_minus2 v128)
    (block $done
      (loop $vectors
        (br_if $done (i32.ge_u (local.get $first) (local.get $end)))
        (local.set $second (i32.add (local.get $first) (local.get $stride)))
        (local.set $stop (local.get $second))
        (local.set $next (i32.add (local.get $second) (local.get $stride)))
        (local.set $second
          (select (local.get $second) (local.get $first)
            (i32.lt_u (local.get $second) (local.get $end))))
        (local.set $first_plus (v128.const i32x4 0 0 0 0))
        (local.set $first_minus (v128.const i32x4 0 0 0 0))
        (local.set $first_plus2 (v128.const i32x4 0 0 0 0))
        (local.set $first_minus2 (v128.const i32x4 0 0 0 0))
        (local.set $second_plus (v128.const i32x4 0 0 0 0))
        (local.set $second_minus (v128.const i32x4 0 0 0 0))
        (local.set $second_plus2 (v128.const i32x4 0 0 0 0))
        (local.set $second_minus2 (v128.const i32x4 0 0 0 0))
        (local.set $part (local.get $query))
        (loop $dimensions
          (local.set $plus (v128.load (local.get $part)))
          (local.set $minus (v128.load offset=16 (local.get $part)))
          (local.set $plus2 (v128.load offset=32 (local.get $part)))
          (local.set $minus2 (v128.load offset=48 (local.get $part)))

          (local.set $bytes (v128.load (local.get $first)))
          (local.set $first_plus
            (i32x4.relaxed_dot_i8x16_i7x16_add_s
              (local.get $bytes) (local.get $plus) (local.get $first_plus)))
          (local.set $first_minus
            (i32x4.relaxed_dot_i8x16_i7x16_add_s
              (local.get $bytes) (local.get $minus) (local.get $first_minus)))
          (local.set $first_plus2
            (i32x4.relaxed_dot_i8x16_i7x16_add_s
              (local.get $bytes) (local.get $plus2) (local.get $first_plus2)))
          (local.set $first_minus2
            (i32x4.relaxed_dot_i8x16_i7x16_add_s
              (local.get $bytes) (local.get $minus2) (local.get $first_minus2)))

          (local.set $bytes (v128.load (local.get $second)))
          (local.set $second_plus
            (i32x4.relaxed_dot_i8x16_i7x16_add_s
              (local.get $bytes) (local.get $plus) (local.get $second_plus)))
          (local.set $second_minus
            (i32x4.relaxed_dot_i8x16_i7x16_add_s
              (local.get $bytes) (local.get $minus) (local.get $second_minus)))
          (local.set $second_plus2
            (i32x4.relaxed_dot_i8x16_i7x16_add_s
              (local.get $bytes) (local.get $plus2) (local.get $second_plus2)))
          (local.set $second_minus2
            (i32x4.relaxed_dot_i8x16_i7x16_add_s
              (local.get $bytes) (local.get $minus2) (local.get $second_minus2)))

          (local.set $second (i32.add (local.get $second) (i32.const 16)))
          (local.set $part (i32.add (local.get $part) (i32.const 64)))
          (local.set $first (i32.add (local.get $first) (i32.const 16)))
          (br_if $dimensions (i32.lt_u (local.get $first) (local.get $stop))))
        (v128.store64_lane 0 (local.get $result)
          (call $sums
            (i32x4.sub (local.get $first_plus) (local.get $first_minus))
            (i32x4.sub (local.get $second_plus) (local.get $second_minus))))
        (v128.store64_lane 0 (local.get $result2)
          (call $sums
            (i32x4.sub (local.get $first_plus2) (local.get $first_minus2))
            (i32x4.sub (local.get $second_plus2) (local.get $second_minus2))))
        (local.set $result (i32.add (local.get $result) (i32.const 8)))
        (local.set $result2 (i32.add (local.get $result2) (i32.const 8)))
        (local.set $first (local.get $next))
        (br $vectors))))

  ;; The sum of the four numbers of each vector, in the first two lanes.
  (func $sums (param $one v128) (param $other v128) (result v128)
    (local $halves v128)
    (local.set $halves
      (i32x4.add
        (i8x16.shuffle 0 1 2 3 16 17 18 19 8 9 10 11 24 25 26 27
          (local.get $one) (local.get $other))
        (i8x16.shuffle 4 5 6 7 20 21 22 23 12 13 14 15 28 29 30 31
          (local.get $one) (local.get $other))))
    (i32x4.add
      (local.get $halves)
      (i8x16.shuffle 8 9 10 11 12 13 14 15 0 1 2 3 4 5 6 7
        (local.get $halves) (local.get $halves))))
)
