// Every text of what erasing memories leaves: registries, approvals and reputation, in one.

import assert from 'node:assert/strict'
import type { Client } from '../../../crash/testing/client.ts'
import { exampleOf } from '../../contract/examples.ts'
import { operations, pathOf, queryOf } from '../../contract/testing/table.ts'
import { GHOSTS, type Ids } from '../../contract/testing/world.ts'
import type { Made } from './send-parts.ts'

const SLICES = /^(artifacts|landing|provenance|compositions|world_model|approvals|cgr|reports)\./
const reads = operations.filter(({ id, method }) => method === 'GET' && SLICES.test(id))

/** With each id that was made once, those of different kinds side by side. */
function idsOf(kept: Made['kept']): Ids[] {
  const columns = Map.groupBy(kept, (ids) => Object.keys(ids).join())
  const rounds = Math.max(...[...columns.values()].map(({ length }) => length))
  return Array.from({ length: rounds }, (_, round) =>
    Object.assign({ ...GHOSTS }, ...[...columns.values()].map((column) => column[round])),
  )
}

export async function readKept(client: Client, { kept }: Made): Promise<string> {
  const texts: string[] = []
  const asked = new Set<string>()
  // Lists and totals name none of the ids: they are the same path for each.
  const read = async (path: string) => {
    if (asked.has(path)) return
    asked.add(path)
    const { status, text } = await client.ask('GET', path)
    assert.ok(status < 500, `${path}: ${text}`)
    texts.push(text)
  }
  for (const ids of idsOf(kept))
    for (const operation of reads) {
      const example = exampleOf(operation.id, ids)
      await read(`${pathOf(operation, example)}${queryOf(example)}`)
    }
  await read('/v1/hitl/requests?status=all&limit=200')
  return texts.join('\n')
}
