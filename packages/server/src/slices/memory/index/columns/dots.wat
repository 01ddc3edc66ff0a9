;; Dot products of int8 vectors with one query; vector-memory.ts calls it. `npm run generate`
;; assembles the module.
(module
  (type (func (param i32 i32 i32 i32 i32)))
  (import "m" "m" (memory 1 4096 shared))
  (func (type 0) (local v128 v128 i32)
    ;; 0: address of the next vector     1: end of the vectors
    ;; 2: address of the query, widened to int16     3: end of the query
    ;; 4: address of the next result, an i32 for each vector
    ;; 5, 6: sums of four     7: address of the next part of the query
    block
      loop
        ;; for each vector
        local.get 0
        local.get 1
        i32.ge_u
        br_if 1
        ;; sums := 0
        i32.const 0
        i32x4.splat
        local.set 5
        i32.const 0
        i32x4.splat
        local.set 6
        local.get 2
        local.set 7
        loop
          ;; 16 dimensions at a time: the first eight to one sum, the others to the other
          local.get 0
          v128.load8x8_s offset=0 align=1
          local.get 7
          v128.load offset=0 align=1
          i32x4.dot_i16x8_s
          local.get 5
          i32x4.add
          local.set 5
          local.get 0
          v128.load8x8_s offset=8 align=1
          local.get 7
          v128.load offset=16 align=1
          i32x4.dot_i16x8_s
          local.get 6
          i32x4.add
          local.set 6
          ;; 16 bytes of the vector, 32 of the query
          local.get 0
          i32.const 16
          i32.add
          local.set 0
          local.get 7
          i32.const 32
          i32.add
          local.tee 7
          local.get 3
          i32.lt_u
          br_if 0
        end
        ;; the eight sums together are the dot product
        local.get 5
        local.get 6
        i32x4.add
        local.set 5
        local.get 4
        local.get 5
        i32x4.extract_lane 0
        local.get 5
        i32x4.extract_lane 1
        i32.add
        local.get 5
        i32x4.extract_lane 2
        i32.add
        local.get 5
        i32x4.extract_lane 3
        i32.add
        i32.store offset=0 align=4
        local.get 4
        i32.const 4
        i32.add
        local.set 4
        br 0
      end
    end
  )
  (export "dots" (func 0))
)
