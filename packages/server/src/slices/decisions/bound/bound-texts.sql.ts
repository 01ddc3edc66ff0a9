// SQL of bound texts: the texts, the facts that each text derives from, and the disclosures, which
// state in which step and when a memory was first sent to a provider or tool.

import { insertRowsStatement } from '../../../platform/db/bulk-statements.ts'
import type { Row, Tables } from '../../../platform/db/schema/tables.ts'
import { from, insertInto, type TenantDb, type Tx, update } from '../../../platform/db/tenant-db.ts'
import { REDACTED_SECRET } from '../../../platform/kernel/sealed-column.ts'

const COLUMNS = [
  'text_id',
  'kind',
  'run_id',
  'secret_no',
  'sealed',
  'created_us',
  'destroyed_us',
] as const
const IN_MAX = 500

export const insertBoundText = (tx: Tx, row: Row<'bound_texts'>) =>
  tx.run(insertInto(tx, 'bound_texts', row))

export const insertTextFacts = insertRowsStatement<Omit<Tables['bound_text_facts'], 'tenant_id'>>(
  (k, rows, tenant_id) =>
    k
      .insertInto('bound_text_facts')
      .values(rows.map((row) => ({ tenant_id, ref: row.ref, text_id: row.text_id }))),
)

export const findBoundText = (db: TenantDb, text_id: string) =>
  db.first(from(db, 'bound_texts').select(COLUMNS).where('text_id', '=', text_id))

/** Texts with ids after `after`, ordered by id. */
export const listTextsAfter = (db: TenantDb, after: string, limit: number) =>
  db.all(
    from(db, 'bound_texts')
      .select(COLUMNS)
      .where('text_id', '>', after)
      .orderBy('text_id')
      .limit(limit),
  )

export const listTextsOfRun = (db: TenantDb, run_id: string) =>
  db.all(from(db, 'bound_texts').select(COLUMNS).where('run_id', '=', run_id))

export const hasRedactedText = async (db: TenantDb, run_id: string): Promise<boolean> =>
  (await db.first(
    from(db, 'bound_texts')
      .select('text_id')
      .where('run_id', '=', run_id)
      .where('secret_no', '=', REDACTED_SECRET)
      .limit(1),
  )) !== undefined

/** Texts made from any of the refs, each with the ref. */
export async function listTextsUsing(
  db: TenantDb,
  refs: readonly number[],
): Promise<{ ref: number; text_id: string; destroyed: boolean }[]> {
  const found: { ref: number; text_id: string; destroyed: boolean }[] = []
  for (let at = 0; at < refs.length; at += IN_MAX) {
    const rows = await db.all(
      from(db, 'bound_text_facts')
        .innerJoin('bound_texts', (join) =>
          join
            .onRef('bound_texts.tenant_id', '=', 'bound_text_facts.tenant_id')
            .onRef('bound_texts.text_id', '=', 'bound_text_facts.text_id'),
        )
        .select(['bound_text_facts.ref', 'bound_text_facts.text_id', 'bound_texts.destroyed_us'])
        .where('bound_text_facts.ref', 'in', refs.slice(at, at + IN_MAX)),
    )
    for (const { ref, text_id, destroyed_us } of rows)
      found.push({ ref, text_id, destroyed: destroyed_us !== null })
  }
  return found
}

/** Removes the sealed bytes of texts that are not yet destroyed, and marks them as destroyed. */
export async function clearTexts(tx: Tx, text_ids: readonly string[]): Promise<void> {
  for (let at = 0; at < text_ids.length; at += IN_MAX)
    await tx.run(
      update(tx, 'bound_texts')
        .set({ sealed: null, destroyed_us: tx.now() })
        .where('text_id', 'in', text_ids.slice(at, at + IN_MAX))
        .where('destroyed_us', 'is', null),
    )
}

export const replaceText = (
  tx: Tx,
  text_id: string,
  change: { readonly sealed: Uint8Array | null; readonly secret_no: number },
) =>
  tx.run(
    update(tx, 'bound_texts')
      .set({ ...change, destroyed_us: tx.now() })
      .where('text_id', '=', text_id),
  )

/** Keeps an existing row: only the first disclosure of a memory to a recipient is recorded. */
export const insertDisclosures = insertRowsStatement<Row<'disclosures'>>((k, rows, tenant_id) =>
  k
    .insertInto('disclosures')
    .values(
      rows.map(({ ref, recipient_id, kind, step_id, sent_us }) => ({
        tenant_id,
        ref,
        recipient_id,
        kind,
        step_id,
        sent_us,
      })),
    )
    .onConflict((conflict) => conflict.doNothing()),
)

/** Disclosures of the memories, oldest first for each. */
export async function listDisclosures(
  db: TenantDb,
  refs: readonly number[],
): Promise<Row<'disclosures'>[]> {
  const found: Row<'disclosures'>[] = []
  for (let at = 0; at < refs.length; at += IN_MAX)
    found.push(
      ...(await db.all(
        from(db, 'disclosures')
          .select(['ref', 'recipient_id', 'kind', 'step_id', 'sent_us'])
          .where('ref', 'in', refs.slice(at, at + IN_MAX))
          .orderBy('sent_us')
          .orderBy('recipient_id'),
      )),
    )
  return found
}
