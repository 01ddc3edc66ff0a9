// Contents on their way into a store: the tenant's policies first, redacted where they say so.

import type { WriteRequest } from '@custos/contract'
import { admitItems, redactedOr } from '../governance/index.ts'
import type { ImportedFact } from './import-lines.ts'

type Asking = Parameters<typeof admitItems>[0]

/** As they may be written. Refuses `policy_denied` and `approval_required`. */
export async function admitWrites<T extends WriteRequest>(
  call: Asking,
  store_id: string,
  requests: readonly T[],
): Promise<T[]> {
  const metadatas = requests.map(metadataOf)
  const contexts = requests.map(({ content }, i) => ({ store_id, content, metadata: metadatas[i] }))
  const redactions = await admitItems(call, 'memory.write', contexts)
  return requests.map((request, i) => {
    const content = redactedOr(redactions[i], 'content', request.content)
    const metadata = redactedOr(redactions[i], 'metadata', metadatas[i])
    if (metadata === metadatas[i]) return { ...request, content }
    return { ...request, content, options: { ...request.options, metadata } }
  })
}

/** The one that is kept: what stands in `options` wins. */
const metadataOf = ({ metadata, options }: WriteRequest) => options?.metadata ?? metadata

/** The same for lines of an import. */
export async function admitFacts(
  call: Asking,
  store_id: string,
  facts: readonly ImportedFact[],
): Promise<ImportedFact[]> {
  if (facts.length === 0) return []
  const contexts = facts.map(({ draft: { content, metadata } }) => ({
    store_id,
    content,
    metadata,
  }))
  const redactions = await admitItems(call, 'memory.write', contexts)
  return facts.map((fact, i) => {
    const { draft } = fact
    const content = redactedOr(redactions[i], 'content', draft.content)
    const metadata = redactedOr(redactions[i], 'metadata', draft.metadata)
    if (content === draft.content && metadata === draft.metadata) return fact
    return { ...fact, draft: { ...draft, content, metadata } }
  })
}
