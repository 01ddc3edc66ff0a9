// What a service does to its files, through a library that is loaded before it (disk.c): a test
// ends it at one of its writes, lets it run out of space there, or keeps a journal of all.

import { spawnSync } from 'node:child_process'
import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

const FIELDS = 4
const KINDS = { kill: 1, kill_within: 2, full: 3 }

/** Built in `dir`; null, loudly, where there is no Linux with a C compiler. */
export function buildLibrary(t: TestContext, dir: string, source: string): string | null {
  const library = join(dir, `${source}.so`)
  const file = join(import.meta.dirname, source)
  const options = ['-O2', '-shared', '-fPIC', '-o', library, file, '-ldl', '-pthread']
  const built = process.platform === 'linux' ? spawnSync('cc', options).status : null
  if (built === 0) return library
  t.diagnostic('NOT RUN: THIS NEEDS LINUX AND A C COMPILER (cc)')
  return null
}

export function openDisk(t: TestContext, dir: string, under: string): Disk | null {
  const library = buildLibrary(t, dir, 'disk.c')
  return library === null ? null : new Disk(dir, under, library)
}

export class Disk {
  readonly #control: number
  readonly #env: Readonly<Record<string, string>>

  constructor(dir: string, under: string, library: string) {
    const control = join(dir, 'control')
    this.#control = openSync(control, 'w+')
    this.#write([0, 0, 0, 0])
    this.#env = { LD_PRELOAD: library, DISK_UNDER: under, DISK_CONTROL: control }
  }

  /** Settings of a service whose files are watched; `journal` is a file to write. */
  env(journal?: string): Readonly<Record<string, string>> {
    return { ...this.#env, ...(journal === undefined ? {} : { DISK_JOURNAL: journal }) }
  }

  /** How many calls changed files or flushed them, so far. */
  get seen(): number {
    const bytes = Buffer.alloc(8)
    readSync(this.#control, bytes, 0, 8, 0)
    return Number(bytes.readBigInt64LE())
  }

  /** What becomes of the call that is `after` further on, and with `full` of `count` from it on. */
  arm(kind: keyof typeof KINDS, after: number, count = 1): void {
    const at = this.seen + after
    this.#write([KINDS[kind], at, at + count - 1], 8)
  }

  /** Nothing more happens. */
  calm(): void {
    this.#write([0, 0, 0], 8)
  }

  close(): void {
    closeSync(this.#control)
  }

  #write(numbers: readonly number[], position = 0): void {
    const bytes = Buffer.alloc(8 * FIELDS)
    numbers.forEach((number, i) => {
      bytes.writeBigInt64LE(BigInt(number), 8 * i)
    })
    writeSync(this.#control, bytes, 0, 8 * numbers.length, position)
  }
}
