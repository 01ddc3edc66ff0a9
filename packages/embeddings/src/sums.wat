;; Adds token vectors, each times its factor, to sums; token-vectors.ts calls it. `npm run generate`
;; assembles the module.
(module
  (type (func (param i32 i32 i32 i32)))
  (import "m" "m" (memory 1))
  (func (type 0) (local i32 i32 i32 v128 v128 v128 v128 v128 v128)
    ;; 0: address of the first token, two i32 each: address of its vector, factor     1: end of the tokens
    ;; 2: address of the sums, an i32 for each dimension     3: dimensions, a multiple of 16
    ;; 4: the first of 16 dimensions     5: address of the next token     6: address in its vector
    ;; 7, 8, 9, 10: sums of four     11: the factor, eight times     12: eight products
    loop
      ;; for each 16 dimensions
      local.get 2
      v128.load offset=0 align=1
      local.set 7
      local.get 2
      v128.load offset=16 align=1
      local.set 8
      local.get 2
      v128.load offset=32 align=1
      local.set 9
      local.get 2
      v128.load offset=48 align=1
      local.set 10
      local.get 0
      local.set 5
      loop
        ;; for each token
        local.get 5
        i32.load offset=0 align=1
        local.get 4
        i32.add
        local.set 6
        local.get 5
        v128.load16_splat offset=4 align=1
        local.set 11
        ;; a product is at most 255 x 128, which 16 bits hold
        local.get 6
        v128.load8x8_s offset=0 align=1
        local.get 11
        i16x8.mul
        local.tee 12
        i32x4.extend_low_i16x8_s
        local.get 7
        i32x4.add
        local.set 7
        local.get 12
        i32x4.extend_high_i16x8_s
        local.get 8
        i32x4.add
        local.set 8
        local.get 6
        v128.load8x8_s offset=8 align=1
        local.get 11
        i16x8.mul
        local.tee 12
        i32x4.extend_low_i16x8_s
        local.get 9
        i32x4.add
        local.set 9
        local.get 12
        i32x4.extend_high_i16x8_s
        local.get 10
        i32x4.add
        local.set 10
        local.get 5
        i32.const 8
        i32.add
        local.tee 5
        local.get 1
        i32.lt_u
        br_if 0
      end
      local.get 2
      local.get 7
      v128.store offset=0 align=1
      local.get 2
      local.get 8
      v128.store offset=16 align=1
      local.get 2
      local.get 9
      v128.store offset=32 align=1
      local.get 2
      local.get 10
      v128.store offset=48 align=1
      local.get 2
      i32.const 64
      i32.add
      local.set 2
      local.get 4
      i32.const 16
      i32.add
      local.tee 4
      local.get 3
      i32.lt_u
      br_if 0
    end
  )
  (export "add" (func 0))
)
