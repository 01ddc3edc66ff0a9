// Dot products are the same integers with SIMD, without it, and one by one; the bytes of the SIMD
// module are those of its text.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { finish } from './steps.ts'
import { VectorColumn } from './vector-column.ts'
import { allocateBlock, DOTS_MODULE, freeBlock, type VectorBlock } from './vector-memory.ts'

const byte = fc.integer({ min: -128, max: 127 })

/** As on a machine without SIMD. */
const allocatePlain = (bytes: number): VectorBlock => ({ bytes: new Int8Array(bytes), place: null })
const columns = () => [new VectorColumn(), new VectorColumn(allocatePlain)]

test('this machine runs the SIMD module, not the plain code', () => {
  const block = allocateBlock(1)
  assert.notEqual(block.place, null)
  freeBlock(block)
})

test('every slot gets the sum of products, for any length, with SIMD and without', () => {
  const shape = fc
    .tuple(fc.integer({ min: 1, max: 70 }), fc.integer({ min: 1, max: 20 }))
    .chain(([dimensions, count]) => {
      const vector = fc.array(byte, { minLength: dimensions, maxLength: dimensions })
      const entry = fc.tuple(fc.nat(700), vector)
      return fc.tuple(vector, fc.array(entry, { minLength: count, maxLength: count }))
    })
  fc.assert(
    fc.property(shape, fc.nat(700), ([query, entries], cleared) => {
      const model = new Map(entries)
      model.delete(cleared)
      const expected = Int32Array.from({ length: 710 }, (_, slot) =>
        query.reduce((sum, value, at) => sum + value * (model.get(slot)?.[at] ?? 0), 0),
      )
      const packed = Int8Array.from(query)
      for (const column of columns()) {
        for (const [slot, vector] of entries) column.set(slot, Int8Array.from(vector))
        column.clear(cleared)
        const out = new Int32Array(710).fill(7)
        finish(column.denseScores(packed, 710, out))
        assert.deepEqual(out, expected)
        const alone = expected.map((_, slot) => column.dot(slot, packed))
        assert.deepEqual(alone, expected)
        column.clearAll()
      }
    }),
    { numRuns: 150 },
  )
})

test('the extremes of 4,096 dimensions stay within 32 bits', () => {
  const lowest = new Int8Array(4_096).fill(-128)
  const out = new Int32Array(1)
  for (const column of columns()) {
    column.set(0, lowest)
    finish(column.denseScores(lowest, 1, out))
    assert.equal(out[0], 4_096 * 128 * 128)
  }
})

test('blocks in use never overlap, and a freed one is zeros wherever it is used again', () => {
  const sizes = fc.constantFrom(4_096, 5_000, 16_384, 65_536)
  const step = fc.oneof(fc.record({ allocate: sizes }), fc.record({ free: fc.nat(40) }))
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const held: { block: VectorBlock; mark: number }[] = []
      for (const [at, one] of steps.entries()) {
        if ('allocate' in one) {
          const block = allocateBlock(one.allocate)
          assert(block.bytes.length >= one.allocate)
          assert(block.bytes.every((byte) => byte === 0))
          held.push({ block, mark: (at % 100) + 1 })
          block.bytes.fill((at % 100) + 1)
        } else for (const { block } of held.splice(one.free, 1)) freeBlock(block)
      }
      for (const { block, mark } of held) assert(block.bytes.every((byte) => byte === mark))
      for (const { block } of held) freeBlock(block)
    }),
    { numRuns: 60 },
  )
})

/** Opcodes of the module, with the number of LEB128 immediates that follow each. */
const OPCODES = new Map<string, [name: string, immediates: number]>([
  ['02', ['block', 1]],
  ['03', ['loop', 1]],
  ['0b', ['end', 0]],
  ['0c', ['br', 1]],
  ['0d', ['br_if', 1]],
  ['20', ['local.get', 1]],
  ['21', ['local.set', 1]],
  ['22', ['local.tee', 1]],
  ['36', ['i32.store', 2]],
  ['41', ['i32.const', 1]],
  ['49', ['i32.lt_u', 0]],
  ['4f', ['i32.ge_u', 0]],
  ['6a', ['i32.add', 0]],
  ['fd 0', ['v128.load', 2]],
  ['fd 1', ['v128.load8x8_s', 2]],
  ['fd 17', ['i32x4.splat', 0]],
  ['fd 27', ['i32x4.extract_lane', 1]],
  ['fd 174', ['i32x4.add', 0]],
  ['fd 186', ['i32x4.dot_i16x8_s', 0]],
])
const TYPES = new Map([
  [0x7f, 'i32'],
  [0x7b, 'v128'],
])

/** Reads the sections of a module (WebAssembly Core Specification 2.0, section 5). */
class Disassembler {
  readonly #bytes: Uint8Array
  #at = 8

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  /** The text of the module, a line for each declaration and instruction. */
  lines(): string[] {
    assert.deepEqual([...this.#bytes.subarray(0, 8)], [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0])
    const sections = new Map<number, string[]>()
    while (this.#at < this.#bytes.length) {
      const id = this.#byte()
      const end = this.#number() + this.#at
      assert.equal(this.#number(), 1, 'each section has one entry')
      sections.set(id, this.#section(id))
      assert.equal(this.#at, end, `section ${id} is read to its end`)
    }
    const ids = [...sections.keys()]
    assert.deepEqual(ids, [1, 2, 3, 7, 10], 'types, imports, functions, exports, code')
    const [types = [], imports = [], functions = [], exports = [], code = []] = sections.values()
    const [locals = '', ...body] = code
    const head = `(func ${functions.join()} ${locals}`
    return ['(module', ...types, ...imports, head, ...body, ')', ...exports, ')']
  }

  #section(id: number): string[] {
    if (id === 1) return [this.#type()]
    if (id === 2) return [`(import ${this.#name()} ${this.#name()} ${this.#memory()})`]
    if (id === 3) return [`(type ${this.#number()})`]
    if (id === 7) return [`(export ${this.#name()} ${this.#function()})`]
    return this.#code()
  }

  #type(): string {
    assert.equal(this.#byte(), 0x60)
    const text = `(type (func (param ${this.#types(this.#number()).join(' ')})))`
    assert.equal(this.#number(), 0, 'no results')
    return text
  }

  #memory(): string {
    assert.deepEqual([this.#byte(), this.#byte()], [2, 3], 'a shared memory')
    return `(memory ${this.#number()} ${this.#number()} shared)`
  }

  #function(): string {
    assert.equal(this.#byte(), 0)
    return `(func ${this.#number()})`
  }

  #code(): string[] {
    const end = this.#number() + this.#at
    const locals: string[] = []
    for (let groups = this.#number(); groups > 0; groups -= 1) {
      const count = this.#number()
      const [type = ''] = this.#types(1)
      locals.push(...Array.from({ length: count }, () => type))
    }
    const lines = [`(local ${locals.join(' ')})`]
    while (this.#at < end) lines.push(this.#instruction())
    assert.equal(lines.pop(), 'end', 'the end of the function')
    return lines
  }

  #instruction(): string {
    const first = this.#byte().toString(16).padStart(2, '0')
    const key = first === 'fd' ? `fd ${this.#number()}` : first
    const [name, immediates] = OPCODES.get(key) ?? assert.fail(`opcode ${key}`)
    const [one, other] = Array.from({ length: immediates }, () => this.#number())
    if (other !== undefined) return `${name} offset=${other} align=${2 ** (one ?? 0)}`
    if (name === 'block' || name === 'loop') {
      assert.equal(one, 0x40, 'no type')
      return name
    }
    return one === undefined ? name : `${name} ${one}`
  }

  #types(count: number): string[] {
    return Array.from({ length: count }, () => TYPES.get(this.#byte()) ?? assert.fail('a type'))
  }

  #name(): string {
    const length = this.#number()
    this.#at += length
    return `"${Buffer.from(this.#bytes.subarray(this.#at - length, this.#at)).toString()}"`
  }

  #byte(): number {
    return this.#bytes[this.#at++] ?? assert.fail('the module ends too early')
  }

  /** LEB128; the module has no negative numbers. */
  #number(): number {
    const byte = this.#byte()
    return byte < 0x80 ? byte : (byte & 0x7f) + this.#number() * 0x80
  }
}

test('the bytes of the SIMD module are those of its text', () => {
  const text = readFileSync(join(import.meta.dirname, 'dots.wat'), 'utf8')
  const lines = text.split('\n').map((line) => line.replace(/;;.*/, '').trim())
  assert.deepEqual(
    lines.filter((line) => line !== ''),
    new Disassembler(DOTS_MODULE).lines(),
  )
})
