// Canaries: texts that stand nowhere else, and the search for them in bytes of any encoding.

import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Every canary begins with it, so that one search finds them all. */
export const CANARY = 'Xqcanary'
/** What is a caller's own label, or an answer to the caller, and is kept by design. */
const LABEL = 'Xqlabel'
/** As it is in text in small letters. */
const WHOLE_CANARY = new RegExp(`${CANARY.toLowerCase()}\\d+z`, 'g')

export class Canaries {
  /** `operation place` by canary in small letters: a place may have several. */
  readonly #sent = new Map<string, string>()
  #count = 0

  /** A new canary for a place; it is noted as sent. */
  mark(operation: string, place: string): string {
    return this.#new(CANARY, `${operation} ${place}`)
  }

  label(operation: string, place: string): string {
    return this.#new(LABEL, `${operation} ${place}`)
  }

  get places(): ReadonlySet<string> {
    return new Set(this.#sent.values())
  }

  /** The places whose canaries are in the text; labels do not count. */
  foundIn(text: string): string[] {
    const lower = text.toLowerCase()
    if (!lower.includes(CANARY.toLowerCase())) return []
    const found = new Set<string>()
    for (const [canary] of lower.matchAll(WHOLE_CANARY)) {
      const place = this.#sent.get(canary)
      if (place !== undefined) found.add(place)
    }
    return found.size > 0 ? [...found].sort() : ['a canary cut short']
  }

  #new(prefix: string, place: string): string {
    this.#count += 1
    const canary = `${prefix}${String(this.#count).padStart(4, '0')}z`
    this.#sent.set(canary.toLowerCase(), place)
    return canary
  }
}

// A base64 text shows a word in one of three ways, by where it begins; the cut ends are dropped.
const base64Forms = [0, 1, 2].map((shift) => {
  const text = Buffer.from(`${'.'.repeat(shift)}${CANARY}`).toString('base64')
  return text.slice(shift === 0 ? 0 : shift + 1, -4)
})

const hex = Buffer.from(CANARY).toString('hex')

const base64urlOf = (form: string) => form.replaceAll('+', '-').replaceAll('/', '_')

/** Forms searched for as they are; letters in other cases are found in the lowered bytes. */
const FORMS: readonly (readonly [string, Buffer])[] = [
  ...base64Forms.map((form) => ['base64', Buffer.from(form)] as const),
  ...base64Forms
    .filter((form) => base64urlOf(form) !== form)
    .map((form) => ['base64url', Buffer.from(base64urlOf(form))] as const),
  ['hex', Buffer.from(hex)],
  ['HEX', Buffer.from(hex.toUpperCase())],
]
const LOWERED: readonly (readonly [string, Buffer])[] = [
  ['utf-8', Buffer.from(CANARY.toLowerCase())],
  ['utf-16le', Buffer.from(CANARY.toLowerCase(), 'utf16le')],
  ['utf-16be', Buffer.from(CANARY.toLowerCase(), 'utf16le').swap16()],
]

/** The encodings in which a canary stands in the bytes. */
export function encodingsIn(bytes: Buffer): string[] {
  const lowered = Buffer.from(bytes)
  for (let i = 0; i < lowered.length; i += 1) {
    const byte = lowered[i] ?? 0
    if (byte >= 0x41 && byte <= 0x5a) lowered[i] = byte + 0x20
  }
  return [
    ...FORMS.filter(([, form]) => bytes.includes(form)),
    ...LOWERED.filter(([, form]) => lowered.includes(form)),
  ].map(([name]) => name)
}

/** `file: encoding` of every hit in the files under the directory. */
export function hitsUnder(dir: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' }).flatMap((name) => {
    const bytes = readIfThere(join(dir, name))
    return encodingsIn(bytes).map((encoding) => `${name}: ${encoding}${excerptOf(bytes)}`)
  })
}

/** Nothing of a directory, and of a file that a running database has deleted since. */
function readIfThere(path: string): Buffer {
  try {
    return statSync(path).isFile() ? readFileSync(path) : Buffer.alloc(0)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return Buffer.alloc(0)
    throw error
  }
}

/** What stands around the first canary in UTF-8, to tell where it comes from. */
function excerptOf(bytes: Buffer): string {
  const at = bytes.toString('latin1').toLowerCase().indexOf(CANARY.toLowerCase())
  if (at < 0) return ''
  const near = bytes.subarray(Math.max(0, at - 100), at + 60).toString('latin1')
  return ` ${near.replace(/[^ -~]+/g, '~')}`
}
