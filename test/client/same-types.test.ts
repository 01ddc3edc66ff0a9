// The types of the client are those of the contract's schemas: what this file says, it compiles.

import test from 'node:test'
import type { SameTypes } from './generated/same-types.ts'

/** The members of the list that are not `true`: pairs of types that differ. */
type Different = Exclude<SameTypes[number], true>

/** Does not compile when the list has such a member. */
const noneDiffers: [Different] extends [never] ? true : Different = true

test('every type of the client is identical to the type of its schema in the contract', (t) => {
  t.diagnostic(`compiled: ${noneDiffers}`)
})
