// Proofs of a tenant's move between clusters: what was equal on both sides, and the verification.
import type { JsonObject } from '../core/canonical.ts'
import type { PublishedKey } from '../core/keys.ts'
import { findMismatch, isCount, isObject, isText, orNull } from '../core/shape.ts'
import { signedBytes, tryBytes } from '../core/signature.ts'
import {
  addCheck,
  checkSignature,
  finishVerdict,
  malformedVerdict,
  startVerdict,
  type Verdict,
  type VerdictDraft,
} from '../core/verdict.ts'
import { verifyEpoch } from '../log/log-proof.ts'
import { isLogOf } from './tenant-erasure.ts'

/** The `record_kind` of a move. The domain of its signature is `custos/tenant_move/v1`. */
export const TENANT_MOVE_KIND = 'tenant_move'

/** The statement that the source cluster signs. Times are RFC 3339, hashes are hex. */
export type TenantMoveStatement = {
  readonly record_kind: typeof TENANT_MOVE_KIND
  readonly move_id: string
  readonly tenant_id: string
  readonly origin: string
  /** The address at which the tenant is served after the move. */
  readonly address: string
  readonly started_at: string
  readonly proved_at: string
  /** How long writes were refused before `proved_at`. */
  readonly paused_ms: number
  /** The number of rows of each table, and their digest. */
  readonly tables: readonly {
    readonly name: string
    readonly rows: number
    readonly sha256: string
  }[]
  readonly control: readonly {
    readonly name: string
    readonly rows: number
    readonly sha256: string
  }[]
  /** What was equal in both keyrings: secrets, ledger and checkpoint. */
  readonly keys: {
    readonly secrets: number
    readonly blocks: number
    readonly ledger: number
    readonly ledger_sha256: string
    readonly checkpoint: { readonly tree_size: number; readonly root_hash: string } | null
    /** Number of public keys of the source that the destination publishes too. */
    readonly signing_keys: number
  }
  /** The root of the log, equal on both sides, and how many seals opened to equal content. */
  readonly tenant: {
    readonly tree_size: number
    readonly root_hash: string | null
    readonly checkpoint_size: number | null
    readonly facts: number
    readonly decisions: number
    readonly stores: number
  }
  /** The last checkpoint that the source signed; null if there is none yet. */
  readonly last_checkpoint: {
    readonly epoch_number: number
    readonly tree_size: number
    readonly root_hash: string
    /** The checkpoint as a signed note. */
    readonly checkpoint: string
  } | null
}

/** The message of the signature of a move. Throws ProofError `not_canonical`. */
export const tenantMoveBytes = (value: TenantMoveStatement | JsonObject): Uint8Array =>
  signedBytes(TENANT_MOVE_KIND, value)

const isTables = (value: unknown) => Array.isArray(value) && value.every(isTable)
const isTable = (value: unknown) =>
  isObject(value) && isText(value['name']) && isCount(value['rows']) && isText(value['sha256'])

const SHAPE = {
  record_kind: (value: unknown) => value === TENANT_MOVE_KIND,
  move_id: isText,
  tenant_id: isText,
  origin: isText,
  address: isText,
  started_at: isText,
  proved_at: isText,
  paused_ms: isCount,
  tables: isTables,
  control: isTables,
  keys: isObject,
  tenant: (value: unknown) =>
    isObject(value) && isCount(value['tree_size']) && orNull(isText)(value['root_hash']),
  last_checkpoint: orNull(isObject),
}

/**
 * Verifies a proof with the published keys of the source: a record key that was valid then signed
 * it, its checkpoint is signed and of the tenant's log, and the numbers of log entries agree. It
 * proves what the source stated when it released the tenant. Never throws.
 */
export async function verifyTenantMove(
  value: unknown,
  keys: readonly PublishedKey[],
): Promise<Verdict> {
  if (!isObject(value)) return malformedVerdict(TENANT_MOVE_KIND, 'not an object')
  const misfit = findMismatch(value, SHAPE)
  if (misfit !== null) return malformedVerdict(TENANT_MOVE_KIND, misfit)
  const message = tryBytes(() => tenantMoveBytes(value))
  if (message === null) return malformedVerdict(TENANT_MOVE_KIND, 'no canonical form')

  const findings = startVerdict()
  const { signature, public_key, key_id } = value
  const claim = { message, signature, public_key, key_id, purpose: 'record' } as const
  await checkSignature(findings, { ...claim, at: String(value['proved_at']) }, keys)
  await checkLog(findings, value, keys)
  findings.notChecked.push(
    'that the destination goes on from there: its next checkpoint has to extend this log',
  )
  return finishVerdict(TENANT_MOVE_KIND, findings)
}

async function checkLog(
  findings: VerdictDraft,
  { last_checkpoint: last, tenant, tables, tenant_id }: JsonObject,
  keys: readonly PublishedKey[],
): Promise<void> {
  const size = isObject(tenant) ? tenant['tree_size'] : null
  const entries = Array.isArray(tables) ? tables.filter(isObject) : []
  const rows = entries.find(({ name }) => name === 'breadcrumbs')?.['rows'] ?? 0
  addCheck(findings, 'log_entries', rows === size, 'the rows of the log are not its entries')
  if (!isObject(last)) return
  const verdict = await verifyEpoch(last, { keys })
  addCheck(findings, 'last_checkpoint', verdict.valid, verdict.reason)
  findings.validWith.push(...verdict.valid_with)
  const own = isLogOf(last['checkpoint'], String(tenant_id))
  addCheck(findings, 'log_of_tenant', own, 'the checkpoint is of another log')
  const root = isObject(tenant) ? tenant['root_hash'] : null
  const extended =
    Number(last['tree_size']) < Number(size) ||
    (last['tree_size'] === size && last['root_hash'] === root)
  addCheck(findings, 'log_extended', extended, 'the log is not the one of the checkpoint')
}
