// The text of a small WebAssembly module of one function, from its bytes: a test holds the two
// together, since nothing assembles the text when the service is built.

import assert from 'node:assert/strict'

/** Opcodes, with the number of LEB128 immediates that follow each. */
const OPCODES = new Map<string, [name: string, immediates: number]>([
  ['02', ['block', 1]],
  ['03', ['loop', 1]],
  ['0b', ['end', 0]],
  ['0c', ['br', 1]],
  ['0d', ['br_if', 1]],
  ['20', ['local.get', 1]],
  ['21', ['local.set', 1]],
  ['22', ['local.tee', 1]],
  ['28', ['i32.load', 2]],
  ['36', ['i32.store', 2]],
  ['41', ['i32.const', 1]],
  ['49', ['i32.lt_u', 0]],
  ['4f', ['i32.ge_u', 0]],
  ['6a', ['i32.add', 0]],
  ['fd 0', ['v128.load', 2]],
  ['fd 1', ['v128.load8x8_s', 2]],
  ['fd 8', ['v128.load16_splat', 2]],
  ['fd 11', ['v128.store', 2]],
  ['fd 17', ['i32x4.splat', 0]],
  ['fd 27', ['i32x4.extract_lane', 1]],
  ['fd 149', ['i16x8.mul', 0]],
  ['fd 167', ['i32x4.extend_low_i16x8_s', 0]],
  ['fd 168', ['i32x4.extend_high_i16x8_s', 0]],
  ['fd 174', ['i32x4.add', 0]],
  ['fd 186', ['i32x4.dot_i16x8_s', 0]],
])
const TYPES = new Map([
  [0x7f, 'i32'],
  [0x7b, 'v128'],
])

/** Lines of a text without comments and indentation. */
export const linesOfText = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.replace(/;;.*/, '').trim())
    .filter((line) => line !== '')

/** The lines that the text of a module has: one for each declaration and instruction. */
export const linesOfModule = (bytes: Uint8Array): string[] => new Disassembler(bytes).lines()

/** Reads the sections of a module (WebAssembly Core Specification 2.0, section 5). */
class Disassembler {
  readonly #bytes: Uint8Array
  #at = 8

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

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
    assert.equal(this.#byte(), 2)
    const shared = this.#byte() === 3
    const initial = this.#number()
    return shared ? `(memory ${initial} ${this.#number()} shared)` : `(memory ${initial})`
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

  /** LEB128; the modules have no negative numbers. */
  #number(): number {
    const byte = this.#byte()
    return byte < 0x80 ? byte : (byte & 0x7f) + this.#number() * 0x80
  }
}
