// Reputation: attestations of scores, handlers, scores for other slices, and recomputing from the
// log.

import assert from 'node:assert/strict'
import { type Attestation, DIMENSION_DEFAULT, type reputation } from '@custos/contract'
import {
  ATTESTATION_PURPOSE,
  ATTESTATION_SCHEMA,
  type CgrAttestationBody,
  canonicalize,
  cgrAttestationBytes,
  type JsonObject,
  verifyCgrAttestation,
} from '@custos/proof'
import type { TenantDb, Tx } from '../../platform/db/tenant-db.ts'
import type { Call, Handler, HandlersOf, IdempotentUnit } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import type { Signer } from '../../platform/keys/keyring.ts'
import { pageOf } from '../../platform/page.ts'
import { Refusal } from '../../platform/refusal.ts'
import { appendCrumb, nextSeq } from '../gcrumbs/index.ts'
import { meter } from '../tenants/index.ts'
import { findSubject, score, scores, tiergateOf } from './agent-score.ts'
import { outcome, outcomes } from './apply-outcomes.ts'
import { decide, verifyBatch } from './decide.ts'
import { changeSettings, settings } from './evidence.ts'
import { review, reviews } from './reviews.ts'
import { rotate, rotations } from './rotate.ts'
import type { AgentRow } from './rows/aggregates.sql.ts'
import { contentLabel, hexOf } from './rows/labels.ts'
import {
  type AttestationRow,
  findAttestation,
  findEntryId,
  findNewestAttestation,
  insertAttestation,
  listAttestations,
} from './rows/rotations.sql.ts'
import { openPayload, sealPayload } from './rows/sealed-payload.ts'

const ATTESTATION_ID_BYTES = 16
/** `2026-01-31` */
const DAY_CHARS = 10

/** The row of an attestation and the id of the log entry that issued it. */
interface StoredAttestation {
  readonly row: AttestationRow
  readonly evidence_ref: string | null
}

const issuer: Handler<typeof reputation.issuer> = async ({ kernel }) => {
  const public_key = signerOf(kernel).public_key.toString('hex')
  return {
    issuer: kernel.settings.origin,
    issuer_key_id: public_key,
    public_key,
    schema: ATTESTATION_SCHEMA,
  }
}

const signerOf = (kernel: Kernel): Signer => kernel.keyring.signer(ATTESTATION_PURPOSE)

/** Signs the current score of an agent. Reading a score signs nothing. */
const attest: Handler<typeof reputation.attest> = async (call, { body }) => {
  const { kernel, tenant_id } = call
  const { agent_handle, subject_key, dimension = DIMENSION_DEFAULT } = body
  const { shown, agent } = await findSubject(call, { agent_handle, subject_key, dimension })
  const signer = signerOf(kernel)
  const signed: CgrAttestationBody = {
    ...tiergateOf(shown),
    schema: ATTESTATION_SCHEMA,
    issuer: kernel.settings.origin,
    issuer_key_id: signer.public_key.toString('hex'),
  }
  const newest = await call.read((db) => newestOf(db, agent.agent_no))
  const [before] = newest ? await openAll(kernel, tenant_id, [newest]) : []
  const again = before !== undefined && saysTheSame(before, signed)
  const made = again ? null : await sign(kernel, tenant_id, { agent, body: signed, signer })
  const stored = await call.once(issueOnce(call, agent, { made, newest: newest?.row }))
  const [answer] = await openAll(kernel, tenant_id, [await withEntry(call, stored)])
  return answer ?? call.refuse('unavailable')
}

const saysTheSame = (before: Attestation, now: CgrAttestationBody): boolean => {
  const { signature: _, evidence_ref: _entry, as_of, ...said } = before
  const { as_of: as_of_now, ...says } = now
  const same = canonicalize(said) === canonicalize(says)
  return same && as_of.slice(0, DAY_CHARS) === as_of_now.slice(0, DAY_CHARS)
}

/** An attestation before it is stored. Its position will be that of its log entry. */
async function sign(
  kernel: Kernel,
  tenant_id: string,
  { agent, body, signer }: { agent: AgentRow; body: CgrAttestationBody; signer: Signer },
) {
  const bytes = cgrAttestationBytes(body)
  const signed = { ...body, signature: signer.sign(bytes).toString('hex') }
  const verdict = await verifyCgrAttestation(signed, kernel.keyring.publishedKeys())
  assert(verdict.valid, `an attestation that does not verify was made: ${verdict.reason}`)
  const keys = await kernel.keyring.tenant(tenant_id)
  const id = kernel.ids.hex(ATTESTATION_ID_BYTES)
  const place = { column: 'attestation', id } as const
  const { secret_no, sealed } = await sealPayload(kernel, tenant_id, [{ place, content: signed }])
  return {
    row: {
      attestation_id: Buffer.from(id, 'hex'),
      agent_no: agent.agent_no,
      secret_no,
      sealed: sealed[0] ?? Buffer.alloc(0),
    },
    record: hexOf(contentLabel(keys, [canonicalize(signed)])),
    issuer_key_id: body.issuer_key_id,
  }
}

interface Issue {
  /** `null` if the newest attestation already states the same. */
  readonly made: Awaited<ReturnType<typeof sign>> | null
  readonly newest: AttestationRow | undefined
}

function issueOnce(
  call: Call<typeof reputation.attest>,
  agent: AgentRow,
  { made, newest }: Issue,
): IdempotentUnit<AttestationRow> {
  return {
    async run(tx) {
      meter(tx, call.operation.id)
      const row = await issue(tx, agent, { made, newest })
      return { reply: row, ids: { attestation_id: hexOf(row.attestation_id) } }
    },
    async replay(tx, ids) {
      const id = Buffer.from(String(ids['attestation_id']), 'hex')
      return (await findAttestation(tx, id)) ?? call.refuse('unavailable')
    },
  }
}

async function issue(tx: Tx, agent: AgentRow, { made, newest }: Issue): Promise<AttestationRow> {
  if (made === null) {
    if (newest) return newest
    throw new Refusal('unavailable')
  }
  const found = await findNewestAttestation(tx, agent.agent_no)
  // Another request has just attested the same score, and one attestation is enough.
  if (found && found.seq !== newest?.seq) return found
  const row = { ...made.row, seq: await nextSeq(tx) }
  tx.needs(insertAttestation(tx, row))
  await appendCrumb(tx, {
    event_type: 'cgr.attestation_issued',
    subject: hexOf(row.attestation_id),
    payload: {
      agent: hexOf(agent.identity),
      issuer_key_id: made.issuer_key_id,
      record: made.record,
    },
  })
  return row
}

async function newestOf(db: TenantDb, agent_no: number): Promise<StoredAttestation | undefined> {
  const row = await findNewestAttestation(db, agent_no)
  return row && { row, evidence_ref: await findEntryId(db, row.seq) }
}

const withEntry = (
  call: Call<typeof reputation.attest>,
  row: AttestationRow,
): Promise<StoredAttestation> =>
  call.read(async (db) => ({ row, evidence_ref: await findEntryId(db, row.seq) }))

async function openAll(
  kernel: Kernel,
  tenant_id: string,
  stored: readonly StoredAttestation[],
): Promise<Attestation[]> {
  const sealed = stored.map(({ row }) => {
    const place = { column: 'attestation', id: hexOf(row.attestation_id) } as const
    return { place, secret_no: row.secret_no, sealed: row.sealed }
  })
  const opened = await openPayload<JsonObject & Omit<Attestation, 'evidence_ref'>>(
    kernel,
    tenant_id,
    sealed,
  )
  return opened.map((signed, at) => {
    if (!signed) throw new Refusal('unavailable')
    return { ...signed, evidence_ref: stored[at]?.evidence_ref ?? null }
  })
}

const attestation: Handler<typeof reputation.attestation> = async (call, input) => {
  const { agent_handle } = input.params
  const { subject_key, dimension = DIMENSION_DEFAULT } = input.query ?? {}
  const { agent } = await findSubject(call, { agent_handle, subject_key, dimension })
  const newest = await call.read((db) => newestOf(db, agent.agent_no))
  if (!newest) return call.refuse('attestation_not_found')
  const [answer] = await openAll(call.kernel, call.tenant_id, [newest])
  return answer ?? call.refuse('unavailable')
}

const attestations: Handler<typeof reputation.attestations> = async (call, { query }) => {
  const page = pageOf(query, 50, call.operation.id)
  const stored = await call.read(async (db) => {
    const rows = await listAttestations(db, page)
    return Promise.all(
      rows.map(async (row) => ({ row, evidence_ref: await findEntryId(db, row.seq) })),
    )
  })
  const shown = await openAll(call.kernel, call.tenant_id, stored)
  const last = stored.at(-1)
  return page.envelope('attestations', shown, last ? { at: last.row.seq, id: '' } : null)
}

export { nameAll, scoreRows, showAll } from './agent-score.ts'
export { checkReceipts } from './receipts/execution-receipt.ts'
export { type RecomputeResult, recompute } from './recompute.ts'
export { listAgents } from './rows/agents.sql.ts'
export { dimensionLabel } from './rows/labels.ts'
export { openPayload, reputationTextSources } from './rows/sealed-payload.ts'

export const reputationHandlers = {
  decide,
  verify_batch: verifyBatch,
  outcome,
  outcomes,
  review,
  reviews,
  scores,
  score,
  issuer,
  attest,
  attestations,
  attestation,
  rotate,
  rotations,
  settings,
  change_settings: changeSettings,
} satisfies HandlersOf<typeof reputation>
