// Contents on their way into a store: the tenant's policies first, redacted where they say so.

import { admitItems } from '../governance/index.ts'
import type { ImportedFact } from './import-lines.ts'

type Asking = Parameters<typeof admitItems>[0]

/** As they may be written. Refuses `policy_denied` and `approval_required`. */
export async function admitContents(
  call: Asking,
  store_id: string,
  contents: readonly string[],
): Promise<string[]> {
  const contexts = contents.map((content) => ({ store_id, content }))
  const redactions = await admitItems(call, 'memory.write', contexts)
  return contents.map((content, i) => redactions[i]?.['content'] ?? content)
}

/** The same for lines of an import. */
export async function admitFacts(
  call: Asking,
  store_id: string,
  facts: readonly ImportedFact[],
): Promise<ImportedFact[]> {
  if (facts.length === 0) return []
  const given = facts.map(({ draft }) => draft.content)
  const contents = await admitContents(call, store_id, given)
  return facts.map((fact, i) => {
    const content = contents[i] ?? fact.draft.content
    return content === fact.draft.content ? fact : { ...fact, draft: { ...fact.draft, content } }
  })
}
