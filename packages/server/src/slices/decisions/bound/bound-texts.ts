// Bound texts: texts derived from memories, such as inputs and arguments of runs. The key of each
// is derived from its own secret and the secrets of those memories, so erasing one of them makes
// the whole text unreadable in every copy: the text may paraphrase the memory.

import { contentHash } from '@custos/proof'
import { jsonBytes } from '../../../platform/bytes.ts'
import { formatTime } from '../../../platform/clock.ts'
import type { Row, Tables } from '../../../platform/db/schema/tables.ts'
import type { TenantDb, Tx } from '../../../platform/db/tenant-db.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { type RecordSecret, recordSecrets } from '../../../platform/kernel/record-secrets.ts'
import { REDACTED_SECRET } from '../../../platform/kernel/sealed-column.ts'
import { REDACTED_TEXT, textSource } from '../../../platform/kernel/text-source.ts'
import type { TenantKeys } from '../../../platform/keys/keyring.ts'
import { open, SealError, seal } from '../../../platform/keys/seal.ts'
import { findExpired, loadFactStates } from '../../memory/index.ts'
import { encodeHead, readSealed, type SealedHead } from '../trail/document.ts'
import { type PreparedFacts, prepareFacts, resolveFacts } from '../trail/new-decision.ts'
import {
  clearTexts,
  findBoundText,
  insertBoundText,
  insertDisclosures,
  insertTextFacts,
  listDisclosures,
  listTextsAfter,
  listTextsOfRun,
  listTextsUsing,
  replaceText,
} from './bound-texts.sql.ts'

const ID_BYTES = 16
const SALT_BYTES = 32

interface BoundText {
  readonly text: string
  /** 32 bytes as hex. */
  readonly salt: string
}

/** A text ready to be stored, with its keys loaded, so that the unit of work waits for no key. */
export interface PreparedText extends BoundText {
  readonly kind: Row<'bound_texts'>['kind']
  readonly run_id: string
  /** The facts that the text is derived from, directly or through other texts. */
  readonly refs: readonly number[]
  readonly text_id: string
  /** Hex SHA-256 of salt ‖ text. */
  readonly commitment: string
  readonly facts: PreparedFacts
  readonly own: RecordSecret
  readonly keys: TenantKeys
}

export async function prepareText(
  kernel: Kernel,
  tenant_id: string,
  given: Pick<PreparedText, 'kind' | 'run_id' | 'text' | 'refs'>,
): Promise<PreparedText> {
  const salt = kernel.ids.hex(SALT_BYTES)
  return {
    ...given,
    text_id: kernel.ids.hex(ID_BYTES),
    salt,
    commitment: contentHash(Buffer.from(salt, 'hex'), given.text),
    facts: await prepareFacts(kernel, tenant_id, { refs: given.refs, contents: [] }),
    own: await recordSecrets(kernel).take(tenant_id),
    keys: await kernel.keyring.tenant(tenant_id),
  }
}

/**
 * Stores a text. Throws a conflict (`erasure_under_way`) while one of its facts is being erased. If
 * one is already erased, only an empty row is stored.
 */
export async function storeText(tx: Tx, prepared: PreparedText): Promise<'stored' | 'erased'> {
  const { text_id, kind, run_id, own, keys, text, salt } = prepared
  const { bound, secrets, gone } = await resolveFacts(tx, prepared.facts)
  const head = { secret_no: own.secret_no, revision: 0, bound }
  const key = keys.decisionKey(text_id, [own.secret, ...secrets])
  const plaintext = jsonBytes({ text, salt })
  const box = seal(key, associatedData(tx.tenant_id, text_id, head), plaintext)
  plaintext.fill(0)
  const erased = gone.length > 0
  await insertBoundText(tx, {
    text_id,
    kind,
    run_id,
    secret_no: own.secret_no,
    sealed: erased ? null : Buffer.concat([encodeHead(head), box]),
    created_us: tx.now(),
    destroyed_us: erased ? tx.now() : null,
  })
  tx.gather(
    insertTextFacts,
    bound.map((ref) => ({ ref, text_id })),
  )
  return erased ? 'erased' : 'stored'
}

const associatedData = (tenant_id: string, text_id: string, head: SealedHead): Buffer =>
  jsonBytes(['bound_text', tenant_id, text_id, head.secret_no, head.revision, ...head.bound])

/** Opens texts by id, except those that are destroyed or derived from an expired fact. */
async function openTexts(
  kernel: Kernel,
  db: TenantDb,
  rows: readonly Row<'bound_texts'>[],
): Promise<Map<string, BoundText>> {
  const sealed = rows.flatMap((row) =>
    row.sealed === null ? [] : [{ row, ...readSealed(row.sealed) }],
  )
  const { tenant_id } = db
  const refs = [...new Set(sealed.flatMap(({ head }) => head.bound))]
  const own = await kernel.keyring.secrets(
    tenant_id,
    'decision',
    sealed.map(({ head }) => head.secret_no),
  )
  const facts = await kernel.keyring.secrets(tenant_id, 'fact', refs)
  const expired = await findExpired(db, refs, kernel.clock.now())
  const keys = await kernel.keyring.tenant(tenant_id)
  const opened = new Map<string, BoundText>()
  for (const { row, head, box } of sealed) {
    const secrets = [own.get(head.secret_no), ...head.bound.map((ref) => facts.get(ref))]
    const present = secrets.filter((secret) => secret != null)
    const hidden = head.bound.some((ref) => expired.has(ref))
    if (hidden || present.length !== secrets.length) continue
    const key = keys.decisionKey(row.text_id, present)
    const text = tryOpen(() => open(key, associatedData(tenant_id, row.text_id, head), box))
    if (text !== null) opened.set(row.text_id, text)
  }
  return opened
}

function tryOpen(read: () => Buffer): BoundText | null {
  try {
    // `storeText` wrote the bytes.
    return JSON.parse(read().toString())
  } catch (error) {
    if (error instanceof SealError) return null
    throw error
  }
}

export const openTextsOfRun = async (kernel: Kernel, db: TenantDb, run_id: string) =>
  openTexts(kernel, db, await listTextsOfRun(db, run_id))

/** Returns `null` if the text is destroyed, unknown, or hidden by an expired memory. */
export async function openText(
  kernel: Kernel,
  db: TenantDb,
  text_id: string,
): Promise<BoundText | null> {
  const row = await findBoundText(db, text_id)
  if (!row) return null
  return (await openTexts(kernel, db, [row])).get(text_id) ?? null
}

/** Whether a text still exists, for a unit of work that uses a text opened before it began. */
export const isTextStored = async (db: TenantDb, text_id: string): Promise<boolean> =>
  (await findBoundText(db, text_id))?.sealed != null

/** Clears the texts derived from facts whose secrets are destroyed. Needs no keys. */
export async function destroyTextsUsing(tx: Tx, refs: readonly number[]): Promise<void> {
  const found = await listTextsUsing(tx, refs)
  const left = found.filter(({ destroyed }) => !destroyed).map(({ text_id }) => text_id)
  await clearTexts(tx, [...new Set(left)])
}

/** How many derived texts are destroyed and how many are left, by ref. */
export async function countTextsUsing(
  db: TenantDb,
  refs: readonly number[],
): Promise<Map<number, { destroyed: number; present: number }>> {
  const counts = new Map<number, { destroyed: number; present: number }>()
  for (const [ref, texts] of Map.groupBy(await listTextsUsing(db, refs), (one) => one.ref)) {
    const destroyed = texts.filter((one) => one.destroyed).length
    counts.set(ref, { destroyed, present: texts.length - destroyed })
  }
  return counts
}

/** Lets subject requests search and redact bound texts, also those derived from no memory. */
export const boundTextSource = textSource<
  Row<'bound_texts'>,
  { readonly [member: string]: string; readonly text: string }
>({
  kind: 'run_text',
  list: (db, after, limit) => listTextsAfter(db, after?.text_id ?? '', limit),
  find: findBoundText,
  idOf: ({ text_id }) => text_id,
  createdUs: ({ created_us }) => created_us,
  open: (kernel, tenant_id, rows) =>
    kernel.db.read(tenant_id, async (db) => {
      const opened = await openTexts(kernel, db, rows)
      return rows.map(({ text_id }) => {
        const found = opened.get(text_id)
        return found ? { text: found.text } : null
      })
    }),
  // The text is dropped, not replaced; `secret_no` marks the row as redacted.
  redact: async () => [Buffer.from(REDACTED_TEXT)],
  update: (tx, { text_id }) =>
    replaceText(tx, text_id, { sealed: null, secret_no: REDACTED_SECRET }),
})

/**
 * Records, before a text is sent to a model or a tool, which memories it is derived from, so that
 * their certificates of erasure can name the recipient. Returns false if one of them is erased or
 * being erased: the text must then not be sent.
 */
export async function noteDisclosure(
  tx: Tx,
  refs: readonly number[],
  {
    kind,
    recipient_id,
    step_id,
    sent_us = tx.now(),
  }: Pick<Tables['disclosures'], 'kind' | 'recipient_id' | 'step_id'> & {
    /** Time of sending, if it was before the memories were written. */
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

/** Recipients by memory and kind, as a certificate states them: `<id> since <time> (step <id>)`. */
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
