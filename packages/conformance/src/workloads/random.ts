// Seeded random numbers: SHA-256 of a label and a counter, reproducible in any language.

import { sha256, utf8 } from '@custos/proof'

export interface RandomDraws {
  /** 0 … below − 1, for `below` up to 2^24. */
  int(below: number): number
  pick<T>(list: readonly T[]): T
  /** A shuffled copy (Fisher-Yates from the end). */
  shuffle<T>(list: readonly T[]): T[]
}

/** The stream of one label: SHA-256 of `label|0`, `label|1`, … read in words of 32 bits. */
export function seededDraws(label: string): RandomDraws {
  let [counter, at] = [0, 0]
  let block: DataView = new DataView(new ArrayBuffer(0))
  const word = (): number => {
    if (at + 4 > block.byteLength) {
      const digest = sha256(utf8(`${label}|${counter}`))
      counter += 1
      at = 0
      block = new DataView(digest.buffer, digest.byteOffset, digest.byteLength)
    }
    at += 4
    return block.getUint32(at - 4)
  }
  // The modulo bias is negligible for the small values of `below` that workloads use.
  const int = (below: number) => word() % below
  const pick = <T>(list: readonly T[]): T => itemAt(list, int(list.length))
  return {
    int,
    pick,
    shuffle: (list) => {
      const copy = [...list]
      for (let i = copy.length - 1; i > 0; i -= 1) {
        const j = int(i + 1)
        const [a, b] = [itemAt(copy, i), itemAt(copy, j)]
        copy[i] = b
        copy[j] = a
      }
      return copy
    },
  }
}

function itemAt<T>(list: readonly T[], index: number): T {
  const item = list[index]
  if (item === undefined) throw new RangeError('nothing to draw from')
  return item
}
