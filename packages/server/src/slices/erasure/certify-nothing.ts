// A signed answer for a ref that nothing here names: it never becomes the certificate of a memory.

import type { Kernel } from '../../platform/kernel.ts'
import { type StoredCertificate, signStatement } from './certificate.ts'
import { factStatement, storeFactCertificate } from './certify-facts.ts'
import { limitsOf } from './claims.ts'
import type { EraseJob } from './erase-fact.ts'
import { observeFacts } from './observe-facts.ts'
import { findPlaces, isNamedByDecision } from './subjects.sql.ts'

/** null when a memory or a decision has taken the number since it was looked for. */
export async function certifyNothing(
  kernel: Kernel,
  { tenant_id, request: { ref }, reasons, requested_us, certificate_id }: EraseJob,
): Promise<StoredCertificate | null> {
  const outcome = 'nothing_found'
  const subject = { ref, store_id: null, outcome } as const
  const observed = (await observeFacts(kernel, tenant_id, [subject], new Map())).get(ref)
  if (!observed?.gone) return null
  const completed_us = kernel.clock.now()
  const statement = factStatement(
    tenant_id,
    { ...subject, ...reasons, certificate_id, fact_content_hash: null, redactions: [] },
    {
      observed,
      requested_us,
      completed_us,
      log_seq: null,
      limits: limitsOf({
        engine: kernel.db.stats().engine,
        kind: 'fact',
        outcome,
        with_words: false,
      }),
    },
  )
  const certificate = await signStatement(kernel, statement)
  return kernel.db.transact(tenant_id, async (tx) => {
    const taken = (await findPlaces(tx, [ref])).length > 0 || (await isNamedByDecision(tx, ref))
    if (taken) return null
    return storeFactCertificate(tx, certificate, completed_us)
  })
}
