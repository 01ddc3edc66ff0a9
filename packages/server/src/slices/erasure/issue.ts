// erasure.issue: erases a memory and answers its certificate; twice answers the first one.

import type { erasure, IssuedCertificate } from '@custos/contract'
import type { Handler } from '../../platform/call.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { showCertificate } from './certificate.ts'
import { type Answer, eraseFact } from './erase-fact.ts'
import { reasonsOf } from './plan.ts'

export const issue: Handler<(typeof erasure)['issue']> = async (call, { body }) => {
  const request = {
    ref: body.fact_ref,
    store_id: body.store_id ?? null,
    allowed_stores: call.principal.allowed_stores,
    facts_only: false,
    operation: call.operation.id,
  }
  const answer = await eraseFact(call, request, reasonsOf(body))
  if (answer === null) return call.refuse('memory_not_found')
  return showAnswer(call.kernel, answer)
}

/** The certificate and what the answer of the erasing request adds beside it. */
export async function showAnswer(kernel: Kernel, answer: Answer): Promise<IssuedCertificate> {
  const { certificate, deleted, content_salt } = answer
  return {
    ...(await showCertificate(certificate, kernel.keyring.publishedKeys())),
    deleted,
    memory_deleted: deleted,
    decision_records_scrubbed: certificate.scrubbed_decision_ids.length,
    ...(content_salt === null ? {} : { content_salt }),
  }
}
