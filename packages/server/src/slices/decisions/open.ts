// Opens sealed decisions: gathers the secrets their keys are made of and the facts they refer to.

import { setTimeout as sleep } from 'node:timers/promises'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import { openFacts } from '../memory/index.ts'
import type { DecisionRow } from './decisions.sql.ts'
import {
  type DecisionDocument,
  NO_SECRET,
  openDocument,
  readSealed,
  type SealedHead,
} from './document.ts'
import { MARKER } from './redaction.ts'

export interface OpenedDecision {
  readonly row: DecisionRow
  readonly decision_id: string
  readonly head: SealedHead
  /** The decision's own secret; none once it is redacted. */
  readonly own: readonly Buffer[]
  /** Those of the bound facts, in their order. */
  readonly secrets: readonly Buffer[]
  readonly document: DecisionDocument
}

/** An opened decision with the contents it shows. */
export interface ResolvedDecision extends OpenedDecision {
  readonly contents: readonly string[]
}

/** A secret of the decision has been destroyed and its scrubbed text is about to be stored. */
export class BeingErased extends Error {}

const WAIT_MS = 50
const WAITS_MAX = 100

/** Looks again while an erasure is between the secret and the rows: at most 5 s, then 503. */
export async function whenSettled<T>(look: () => Promise<T>): Promise<T> {
  for (let waits = 0; ; waits += 1) {
    try {
      return await look()
    } catch (error) {
      if (!(error instanceof BeingErased)) throw error
      if (waits === WAITS_MAX)
        throw new Refusal('unavailable', 'text of a decision is being erased', {
          retry_after_s: 1,
        })
    }
    await sleep(WAIT_MS)
  }
}

export const hex = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')

/** Opens rows of one tenant; throws BeingErased when a secret is gone. */
export async function openRows(
  kernel: Kernel,
  tenant_id: string,
  rows: readonly DecisionRow[],
): Promise<OpenedDecision[]> {
  const sealed = rows.map((row) => ({ row, ...readSealed(row.sealed) }))
  const keys = await kernel.keyring.tenant(tenant_id)
  const owns = await kernel.keyring.secrets(
    tenant_id,
    'decision',
    sealed.flatMap(({ head }) => ownNumber(head)),
  )
  const bound = [...new Set(sealed.flatMap(({ head }) => head.bound))]
  const facts =
    bound.length === 0
      ? new Map<number, Buffer | null>()
      : await kernel.keyring.secrets(tenant_id, 'fact', bound)
  return sealed.map(({ row, head, box }) => {
    const decision_id = hex(row.decision_id)
    const own = ownNumber(head).map((number) => present(owns.get(number)))
    const secrets = head.bound.map((ref) => present(facts.get(ref)))
    const key = keys.decisionKey(decision_id, [...own, ...secrets])
    const document = openDocument({ owner: { tenant_id, decision_id }, head, key }, box)
    return { row, decision_id, head, own, secrets, document }
  })
}

const ownNumber = ({ secret_no }: SealedHead): number[] =>
  secret_no === NO_SECRET ? [] : [secret_no]

/** The secret, or BeingErased. */
export function present(secret: Buffer | null | undefined): Buffer {
  if (secret) return secret
  throw new BeingErased()
}

/** Puts the stored contents in place of references to them; a fact that is gone is the marker. */
export async function resolveContents(
  kernel: Kernel,
  db: TenantDb,
  opened: readonly OpenedDecision[],
): Promise<ResolvedDecision[]> {
  const wanted = new Set<number>()
  for (const { document } of opened)
    for (const [i, content] of document.contents.entries())
      if (content === true) wanted.add(document.refs[i] ?? -1)
  const facts = wanted.size === 0 ? new Map() : await openFacts(kernel, db, [...wanted])
  return opened.map((decision) => {
    const { refs, contents } = decision.document
    const shown = contents.map((content, i) =>
      content === true ? (facts.get(refs[i] ?? -1)?.content ?? MARKER) : content,
    )
    return { ...decision, contents: shown }
  })
}

/** Both steps: rows as they are shown. */
export const openAndResolve = async (
  kernel: Kernel,
  db: TenantDb,
  rows: readonly DecisionRow[],
): Promise<ResolvedDecision[]> =>
  resolveContents(kernel, db, await openRows(kernel, db.tenant_id, rows))
