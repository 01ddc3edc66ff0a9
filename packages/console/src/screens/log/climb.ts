// The Merkle path from an entry to the root of a checkpoint, with each hash computed in this
// browser (RFC 9162, section 2.1.3.2).

import type { Breadcrumb } from '@custos/client/types'
import { breadcrumbId, fromHex, type JsonObject, nodeHash, toHex } from '@custos/proof'

export interface ClimbStep {
  /** The side of the pair that comes from the proof. */
  readonly given: 'left' | 'right'
  readonly left: string
  readonly right: string
  /** The hash over both, as this browser computed it. */
  readonly result: string
}

/** The hash of an entry, from its members. */
export const leafOf = (entry: Breadcrumb): string =>
  // The payload is JSON, because the service sent it as JSON.
  breadcrumbId({ ...entry, payload: entry.payload as JsonObject })

/** Joins the hash of an entry with its siblings, from below upwards. */
export function climb(
  leaf: string,
  index: number,
  size: number,
  siblings: readonly string[],
): readonly ClimbStep[] {
  const steps: ClimbStep[] = []
  let [position, last, hash] = [index, size - 1, leaf]
  for (const sibling of siblings) {
    const isRight = position % 2 === 1 || position === last
    const [left, right] = isRight ? [sibling, hash] : [hash, sibling]
    hash = toHex(nodeHash(fromHex(left), fromHex(right)))
    steps.push({ given: isRight ? 'left' : 'right', left, right, result: hash })
    // A last node without a sibling moves up by itself.
    if (isRight)
      while (position % 2 === 0 && position !== 0)
        [position, last] = [position / 2, Math.floor(last / 2)]
    ;[position, last] = [Math.floor(position / 2), Math.floor(last / 2)]
  }
  return steps
}
