// Seals and opens payloads of reputation, each row under its own record secret, and tells subject
// requests how to reach them. Reviews and outcomes keep only HMACs and no text.

import type { JsonObject } from '@custos/proof'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { jsonPayload, newKey, sealedColumn } from '../../../platform/kernel/sealed-column.ts'
import { REDACTED_TEXT, type TextSource, textSource } from '../../../platform/kernel/text-source.ts'
import {
  findDecisionById,
  listDecisionsAfter,
  type SealedDecisionRow,
  updateRedactedDecision,
} from './events.sql.ts'
import { hexOf } from './labels.ts'
import {
  type AttestationRow,
  findAttestation,
  listAttestationsAfter,
  updateRedactedAttestation,
} from './rotations.sql.ts'

/** The column and the row of a payload. */
interface Place {
  readonly column: 'decision' | 'name' | 'rotation' | 'attestation'
  /** The id of the row. */
  readonly id: string
}

export const reputationColumn = <T extends object>() =>
  sealedColumn({
    domain: 'cgr',
    ids: (tenant_id, { column, id }: Place) => [column, tenant_id, id],
    payload: jsonPayload<T>(),
  })

const anyColumn = reputationColumn()

/** Seals all columns of one row under a new secret, in the given order. */
export async function sealPayload(
  kernel: Kernel,
  tenant_id: string,
  words: readonly { readonly place: Place; readonly content: object }[],
): Promise<{ secret_no: number; sealed: Buffer[] }> {
  const { secret_no, key } = await newKey(kernel, tenant_id)
  const sealed = words.map(({ place, content }) => anyColumn.seal(key, tenant_id, place, content))
  return { secret_no, sealed }
}

/** Opens payloads in the order of `rows`. `null` for each that cannot be opened. */
export const openPayload = <T extends JsonObject>(
  kernel: Pick<Kernel, 'keyring'>,
  tenant_id: string,
  rows: readonly {
    readonly place: Place
    readonly secret_no: number
    readonly sealed: Uint8Array
  }[],
): Promise<(T | null)[]> => {
  const sealed = rows.map(({ place, ...row }) => ({ ...place, ...row }))
  return reputationColumn<T>().openAll(kernel, tenant_id, sealed)
}

const column = reputationColumn<JsonObject>()

/** A redacted decision keeps its agent's key and its verdict. */
const REDACTED_RECORD = {
  reason: REDACTED_TEXT,
  agent_handle: REDACTED_TEXT,
  model_id: REDACTED_TEXT,
  raw_output: REDACTED_TEXT,
  dimension: REDACTED_TEXT,
} as const

const decisionSource = textSource<
  SealedDecisionRow,
  Record<'name' | 'record' | 'context', JsonObject>
>({
  kind: 'governed_decision',
  list: (db, after, limit) => listDecisionsAfter(db, after?.seq ?? -1, limit),
  find: (db, id) => findDecisionById(db, Buffer.from(id, 'hex')),
  idOf: ({ decision_id }) => hexOf(decision_id),
  createdUs: ({ recorded_us }) => recorded_us,
  async open(kernel, tenant_id, rows) {
    const names = await openPayload<JsonObject>(
      kernel,
      tenant_id,
      rows.map(({ decision_id, secret_no, sealed_name: sealed }) => {
        return { place: { column: 'name', id: hexOf(decision_id) }, secret_no, sealed }
      }),
    )
    const texts = await openPayload<Record<'record' | 'context', JsonObject>>(
      kernel,
      tenant_id,
      rows.map(({ decision_id, secret_no, sealed }) => {
        return { place: { column: 'decision', id: hexOf(decision_id) }, secret_no, sealed }
      }),
    )
    return rows.map((_, i) => {
      const [name, text] = [names[i], texts[i]]
      return name && text ? { name, ...text } : null
    })
  },
  async redact(kernel, tenant_id, { row, content: { name, record } }) {
    const id = hexOf(row.decision_id)
    const named = { ...name, agent_handle: REDACTED_TEXT }
    const left = { record: { ...record, ...REDACTED_RECORD }, context: {} }
    return [
      await column.sealRedacted(kernel, tenant_id, { column: 'name', id }, named),
      await column.sealRedacted(kernel, tenant_id, { column: 'decision', id }, left),
    ]
  },
  update: (tx, { seq }, [sealed_name, sealed = Buffer.alloc(0)]) =>
    updateRedactedDecision(tx, seq, { sealed_name, sealed }),
})

const attestationSource = textSource<AttestationRow, JsonObject>({
  kind: 'attestation',
  list: (db, after, limit) => listAttestationsAfter(db, after?.seq ?? -1, limit),
  find: (db, id) => findAttestation(db, Buffer.from(id, 'hex')),
  idOf: ({ attestation_id }) => hexOf(attestation_id),
  open: (kernel, tenant_id, rows) =>
    openPayload<JsonObject>(
      kernel,
      tenant_id,
      rows.map(({ attestation_id, secret_no, sealed }) => {
        return { place: { column: 'attestation', id: hexOf(attestation_id) }, secret_no, sealed }
      }),
    ),
  async redact(kernel, tenant_id, { row, content }) {
    const place = { column: 'attestation', id: hexOf(row.attestation_id) } as const
    const left = { ...content, agent_handle: REDACTED_TEXT, dimension: REDACTED_TEXT }
    return [await column.sealRedacted(kernel, tenant_id, place, left)]
  },
  update: (tx, { seq }, [sealed]) => updateRedactedAttestation(tx, seq, sealed),
})

export const reputationTextSources: readonly TextSource[] = [decisionSource, attestationSource]
