// The second search: what was written while the first one's finds were being erased.

import { addItems } from './erase-batch.ts'
import type { Work } from './erase-job.ts'
import { matcherOf } from './find.ts'
import { itemOfDecision, itemOfFact } from './items.ts'
import { searchAll } from './search.ts'
import { bytesOf } from './show.ts'
import { findRequest, updateOpen } from './subjects.sql.ts'

/** Who goes on writing about the person is not waited for: the manifest says how far it looked. */
const ROUNDS_MAX = 5

/** `found`: there are new items; `nothing`: it has looked for the last time. */
export async function searchLater(work: Work): Promise<'found' | 'nothing'> {
  const { kernel, tenant_id, request_id, words } = work
  const id = bytesOf(request_id)
  const row = await kernel.db.read(tenant_id, (db) => findRequest(db, id))
  if (!row || words === null || row.rounds >= ROUNDS_MAX) return 'nothing'
  const { find, store_ids, namespace, include_decisions } = words
  const { facts, naming, log_seq } = await searchAll(kernel, tenant_id, {
    matcher: matcherOf(find),
    store_ids,
    namespace,
    include_decisions,
    since_seq: row.searched_seq,
  })
  const items = [
    ...facts.map(({ ref }) => itemOfFact(ref)),
    ...naming.map(({ decision_id }) => itemOfDecision(decision_id)),
  ]
  const added = await kernel.db.transact(tenant_id, async (tx) => {
    const change = { searched_seq: log_seq, rounds: row.rounds + 1 }
    await updateOpen(tx, id, change)
    return addItems(tx, request_id, items)
  })
  await kernel.step('subject:searched')
  return added === 0 ? 'nothing' : 'found'
}
