// POST /v1/stores/{store_id}/write: remembers one content.

import type { memory, Written } from '@custos/contract'
import type { Handler, Once } from '../../platform/call.ts'
import { meter } from '../tenants/index.ts'
import { admitWrites } from './admit-contents.ts'
import { findDuplicates } from './duplicates.ts'
import { whileIngesting } from './ingestion.ts'
import { insertFacts } from './insert-facts.ts'
import { prepareFacts } from './prepare-facts.ts'
import { readWrite } from './write-request.ts'
import { enterStore, untilStable, writeTarget } from './write-target.ts'
import { type Outcome, showWritten, showWrittenAgain, type WrittenIds } from './written.ts'

type Write = typeof memory.write

export const write: Handler<Write> = async (call, { params, query, body }) => {
  // A store that is not there is no policy's business.
  await writeTarget(call.kernel, call.tenant_id, params.store_id)
  const [admitted = body] = await admitWrites(call, params.store_id, [body])
  return writeAdmitted(call, { params, query, body: admitted })
}

const writeAdmitted: Handler<Write> = (call, { params, body }) =>
  untilStable(async () => {
    const { kernel, tenant_id, operation } = call
    const target = await writeTarget(kernel, tenant_id, params.store_id)
    const { settings } = target
    const where = { operation: operation.id, loc: ['body'] }
    const { draft, valid_from_us } = readWrite(tenant_id, settings, body, where)

    const [duplicate_of = null] = await findDuplicates(kernel, { tenant_id, ...params }, [draft])
    const author = { tenant_id, principal: call.principal.key_id }
    const [fact] = await prepareFacts(kernel, author, settings, [draft])
    if (!fact) throw new Error('one draft makes one fact')

    const once: Once<Outcome<Written, WrittenIds>> = {
      async run(tx) {
        const head = await enterStore(kernel, tx, target)
        const interval = { valid_from_us, valid_until_us: null }
        const { log_seq } = await insertFacts(kernel, tx, head, [{ fact, interval }])
        meter(tx, operation.id, fact.bytes)
        const { ref, token_count } = fact
        const ids = { ref, duplicate_of, log_seq, token_count }
        return { reply: { fresh: showWritten(fact, ids) }, ids }
      },
      // Written by run above.
      replay: async (_, ids) => ({ again: ids as WrittenIds }),
    }
    const store = { tenant_id, ...params }
    const outcome = await whileIngesting(kernel, store, 1, () => call.once(once))
    if ('fresh' in outcome) return outcome.fresh
    return showWrittenAgain(kernel, tenant_id, outcome.again)
  })
