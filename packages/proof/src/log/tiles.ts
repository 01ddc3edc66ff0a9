// The log as tiles of 256 hashes and bundles of 256 entries (c2sp.org/tlog-tiles).
import { concatBytes } from '../core/encoding.ts'
import { ProofError } from '../core/errors.ts'

export const TILE_WIDTH = 256
const HASH_BYTES = 32
const LENGTH_BYTES = 2
/** The highest level. No tree whose size is a number has a tile above it. */
const LEVEL_MAX = 63
const INDEX = /^(?:x[0-9]{3}\/)*[0-9]{3}$/
const DIGITS = /^[0-9]{1,2}$/
const WIDTH = /^[1-9][0-9]{0,2}$/

/** Identifies a tile. `width` is the number of its hashes or entries, 256 for a full tile. */
export type TileName = {
  /** `entries` are the entries themselves, 0 their leaf hashes, above 0 hashes of full tiles. */
  readonly level: number | 'entries'
  readonly index: number
  readonly width: number
}

/** The part of a tile's address after `tile/`, for example `0/x001/x234/067.p/112`. */
export function formatTilePath({ level, index, width }: TileName): string {
  const groups: string[] = []
  for (let rest = index; groups.length === 0 || rest > 0; rest = Math.floor(rest / 1000))
    groups.unshift(String(rest % 1000).padStart(3, '0'))
  const path = groups.map((group, i) => (i < groups.length - 1 ? `x${group}` : group)).join('/')
  return `${level}/${path}${width === TILE_WIDTH ? '' : `.p/${width}`}`
}

/** The tile of a path. Returns null for any other text, other spellings of a path included. */
export function parseTilePath(path: string): TileName | null {
  const [address = '', partial, ...more] = path.split('.p/')
  const divide = address.indexOf('/')
  const [name, indexText] = [address.slice(0, divide), address.slice(divide + 1)]
  if (more.length > 0 || divide < 0 || !INDEX.test(indexText)) return null
  if (partial !== undefined && !WIDTH.test(partial)) return null
  if (name !== 'entries' && !(DIGITS.test(name) && Number(name) <= LEVEL_MAX)) return null
  const level = name === 'entries' ? name : Number(name)
  const index = Number(indexText.replaceAll(/[x/]/g, ''))
  const width = partial === undefined ? TILE_WIDTH : Number(partial)
  const tile: TileName = { level, index, width }
  if (!Number.isSafeInteger(index) || width > TILE_WIDTH) return null
  // One spelling only: no zeros in front, and no partial tile of full width.
  return formatTilePath(tile) === path ? tile : null
}

/** The number of hashes, or entries, at a level of a tree of `size`. */
export const widthOfLevel = (size: number, level: TileName['level']): number =>
  Math.floor(size / TILE_WIDTH ** (level === 'entries' ? 0 : level))

/** Whether a tree of `size` has all `width` hashes or entries of the tile. */
export function hasTile(size: number, { level, index, width }: TileName): boolean {
  return index * TILE_WIDTH + width <= widthOfLevel(size, level)
}

/** Encodes the hashes of a tile. */
export const encodeTile = (hashes: readonly Uint8Array[]): Uint8Array => concatBytes(...hashes)

/** Decodes a tile. Throws ProofError `malformed_proof` if the bytes are not `width` hashes. */
export function decodeTile(bytes: Uint8Array, width: number): Uint8Array[] {
  if (bytes.length !== width * HASH_BYTES) throw malformed(`a tile of ${width} hashes`)
  return Array.from({ length: width }, (_, i) => bytes.slice(i * HASH_BYTES, (i + 1) * HASH_BYTES))
}

/** Encodes entries, each after its length in two bytes. Throws `out_of_range` above 65,535. */
export function encodeBundle(entries: readonly Uint8Array[]): Uint8Array {
  const parts = entries.flatMap((entry) => {
    if (entry.length > 0xffff) throw new ProofError('out_of_range', 'an entry is too long')
    return [Uint8Array.of(entry.length >> 8, entry.length & 0xff), entry]
  })
  return concatBytes(...parts)
}

/** Decodes a bundle. Throws ProofError `malformed_proof` if the bytes are not `width` entries. */
export function decodeBundle(bytes: Uint8Array, width: number): Uint8Array[] {
  const entries: Uint8Array[] = []
  let at = 0
  while (at + LENGTH_BYTES <= bytes.length) {
    const length = ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)
    const begin = at + LENGTH_BYTES
    at = begin + length
    if (at <= bytes.length) entries.push(bytes.slice(begin, at))
  }
  if (at !== bytes.length || entries.length !== width)
    throw malformed(`a bundle of ${width} entries`)
  return entries
}

const malformed = (what: string): ProofError => new ProofError('malformed_proof', `not ${what}`)
