// What a loss of power leaves of files: what was flushed, and of the rest whatever the disk had got
// to. Blocks that were not flushed survive in any combination; of names that were made, changed or
// removed and whose directory was not flushed, the first ones survive.

import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import type { Random } from './random.ts'

const BLOCK = 512
const HEADER = 32
const KINDS = ['', 'write', 'flush', 'truncate', 'rename', 'remove', 'create', 'link'] as const

export interface Call {
  readonly kind: (typeof KINDS)[number]
  readonly path: string
  readonly offset: number
  /** What is written, or the other name. */
  readonly bytes: Buffer
}

/** How much of what was not flushed survives. */
export type Survival = 'nothing' | 'some' | 'everything'

interface Content {
  flushed: Buffer
  pending: Call[]
}

export function readJournal(path: string): Call[] {
  const all = readFileSync(path)
  const calls: Call[] = []
  for (let at = 0; at + HEADER <= all.length; ) {
    const number = (field: number) => Number(all.readBigInt64LE(at + 8 * field))
    const [pathLength, length] = [number(2), number(3)]
    const start = at + HEADER
    calls.push({
      kind: KINDS[number(0)] ?? '',
      offset: number(1),
      path: all.toString('utf8', start, start + pathLength),
      bytes: all.subarray(start + pathLength, start + pathLength + length),
    })
    at = start + pathLength + length
  }
  return calls
}

/** Puts what survives of `base` and of the calls on it in place of `under`. */
export function cutPower(
  base: string,
  under: string,
  { calls, random, survival }: { calls: readonly Call[]; random: Random; survival: Survival },
): void {
  const disk = new UnflushedDisk(filesOf(base, under), { random, survival })
  for (const call of calls) disk.apply(call)
  rmSync(under, { recursive: true, force: true })
  cpSync(base, under, { recursive: true })
  for (const path of filesOf(under, under).keys()) rmSync(path)
  for (const [path, bytes] of disk.survivors()) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, bytes, { mode: 0o600 })
  }
}

function filesOf(dir: string, under: string): Map<string, Buffer> {
  const names = readdirSync(dir, { recursive: true, encoding: 'utf8' })
  const files = names.filter((name) => statSync(join(dir, name)).isFile())
  // Memory of SQLite's processes, not a file.
  const kept = files.filter((name) => !name.endsWith('-shm'))
  return new Map(kept.map((name) => [join(under, name), readFileSync(join(dir, name))]))
}

class UnflushedDisk {
  readonly #random: Random
  readonly #survival: Survival
  /** As the process sees them. */
  readonly #names = new Map<string, Content>()
  /** As they are after a loss of power, before what is pending. */
  readonly #durable = new Map<string, Content>()
  #pending: { readonly call: Call; readonly content: Content | undefined }[] = []

  constructor(files: Map<string, Buffer>, how: { random: Random; survival: Survival }) {
    this.#random = how.random
    this.#survival = how.survival
    for (const [path, flushed] of files) this.#names.set(path, { flushed, pending: [] })
    for (const [path, content] of this.#names) this.#durable.set(path, content)
  }

  apply(call: Call): void {
    const content = this.#names.get(call.path)
    if (call.kind === 'write' || call.kind === 'truncate') content?.pending.push(call)
    else if (call.kind !== 'flush') this.#rename(call)
    else if (content) {
      for (const pending of content.pending) content.flushed = changed(content.flushed, pending)
      content.pending = []
    } else this.#flushDirectory(call.path)
  }

  #rename(call: Call): void {
    const made = call.kind === 'create' ? { flushed: Buffer.alloc(0), pending: [] } : undefined
    const content = made ?? this.#names.get(call.path)
    this.#pending.push({ call, content })
    place(this.#names, call, content)
  }

  #flushDirectory(path: string): void {
    const isThere = ({ call }: { call: Call }) =>
      [call.path, call.bytes.toString()].some((name) => dirname(name) === path)
    const last = this.#pending.findLastIndex(isThere)
    for (const { call, content } of this.#pending.splice(0, last + 1))
      place(this.#durable, call, content)
  }

  survivors(): Map<string, Buffer> {
    const { length } = this.#pending
    const kept = { nothing: 0, some: this.#random.int(length + 1), everything: length }
    for (const { call, content } of this.#pending.slice(0, kept[this.#survival]))
      place(this.#durable, call, content)
    return new Map([...this.#durable].map(([path, content]) => [path, this.#survivorOf(content)]))
  }

  #survivorOf({ flushed, pending }: Content): Buffer {
    if (this.#survival === 'nothing') return flushed
    let bytes = flushed
    for (const call of pending)
      for (const part of call.kind === 'write' ? blocksOf(call) : [call])
        if (this.#survival === 'everything' || this.#random.int(2) === 0)
          bytes = changed(bytes, part)
    return bytes
  }
}

function place(names: Map<string, Content>, { kind, path, bytes }: Call, content?: Content): void {
  if (kind === 'remove' || kind === 'rename') names.delete(path)
  if (kind !== 'remove' && content) names.set(kind === 'create' ? path : bytes.toString(), content)
}

function* blocksOf({ bytes, offset, ...call }: Call): Generator<Call> {
  for (let at = 0; at < bytes.length; ) {
    const next = Math.min(bytes.length, at + BLOCK - ((offset + at) % BLOCK))
    yield { ...call, bytes: bytes.subarray(at, next), offset: offset + at }
    at = next
  }
}

/** A gap that was never written reads as zeros. */
function changed(bytes: Buffer, call: Call): Buffer {
  const end = call.kind === 'truncate' ? call.offset : call.offset + call.bytes.length
  const size = call.kind === 'truncate' ? end : Math.max(end, bytes.length)
  const result = Buffer.alloc(size)
  bytes.copy(result, 0, 0, Math.min(bytes.length, size))
  if (call.kind === 'write') call.bytes.copy(result, call.offset)
  return result
}
