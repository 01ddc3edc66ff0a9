// What leaves this service in runs: each memory that a text was made from is noted before the text
// is sent to a model or a tool, so that the certificate of its erasure can name who received it.

import { formatTime } from '../../../platform/clock.ts'
import type { Tables } from '../../../platform/db/schema/tables.ts'
import type { TenantDb, Tx } from '../../../platform/db/tenant-db.ts'
import { loadFactStates } from '../../memory/index.ts'
import { insertDisclosures, listDisclosures } from './disclosures.sql.ts'

/** False: one of the memories is erased or about to be, so nothing made from it may be sent. */
export async function noteDisclosure(
  tx: Tx,
  refs: readonly number[],
  {
    kind,
    recipient_id,
    step_id,
    sent_us = tx.now(),
  }: Pick<Tables['disclosures'], 'kind' | 'recipient_id' | 'step_id'> & {
    /** Where it was sent before the memories were written. */
    readonly sent_us?: number
  },
): Promise<boolean> {
  const states = await loadFactStates(tx, refs)
  if ([...states.values()].some((state) => state !== 'live')) return false
  tx.gather(
    insertDisclosures,
    refs.map((ref) => ({ ref, kind, recipient_id, step_id, sent_us })),
  )
  return true
}

/** By memory and kind, as a certificate says it: `<id> since <time> (step <id>)`. */
export async function describeDisclosures(
  db: TenantDb,
  refs: readonly number[],
): Promise<Map<number, Readonly<Record<string, string>>>> {
  const described = new Map<number, Record<string, string>>()
  for (const { ref, kind, recipient_id, step_id, sent_us } of await listDisclosures(db, refs)) {
    const texts = described.get(ref) ?? {}
    const said = `${recipient_id} since ${formatTime(sent_us)} (step ${step_id})`
    const name = kind === 'provider' ? 'sent_to_providers' : 'sent_to_tools'
    texts[name] = texts[name] === undefined ? said : `${texts[name]}, ${said}`
    described.set(ref, texts)
  }
  return described
}
