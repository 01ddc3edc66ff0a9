// Identifiers that follow from a report: the same one gives the same file (RFC 9562, 5.5).

import { createHash } from 'node:crypto'

/** Ours, drawn once: names of reports are unique within it. */
const NAMESPACE = Buffer.from('5f3f0a1e6c2d4b7f9a53d0c8e41b7a26', 'hex')
const BYTES = 16

/** A UUID of version 5: by SHA-1, which RFC 9562 names; nothing rests on its strength. */
export function nameUuid(...parts: readonly string[]): string {
  const hash = createHash('sha1').update(NAMESPACE).update(JSON.stringify(parts)).digest()
  const bytes = hash.subarray(0, BYTES)
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  const hex = bytes.toString('hex')
  const cuts = [0, 8, 12, 16, 20, 32]
  return cuts
    .slice(1)
    .map((end, i) => hex.slice(cuts[i], end))
    .join('-')
}
