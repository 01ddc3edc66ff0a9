// Step 1: finds what a ref stands for and hides it, in one unit with the idempotency record.

import type { Tx } from '../../platform/db/tenant-db.ts'
import { requireTurn } from '../../platform/erasure-turn.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { refuseHeldUses } from '../decisions/index.ts'
import { markErasing } from '../memory/index.ts'
import { meter } from '../tenants/index.ts'
import { readRecord, type StoredCertificate } from './certificate.ts'
import { findCertificate, findStanding } from './certificates.sql.ts'
import type { Marked } from './plan-facts.ts'
import { findPlaces, HELD_SEQ, insertBareTombstone, isNamedByDecision } from './subjects.sql.ts'

export interface EraseRequest {
  readonly ref: number
  /** The memory must be in this store, when one is given. */
  readonly store_id: string | null
  /** The credential's stores; empty: all of the tenant's. */
  readonly allowed_stores: readonly string[]
  /** Only a memory that exists is acted on: decision records and unknown refs are left alone. */
  readonly facts_only: boolean
  readonly operation: string
}

export type Begun =
  | { readonly kind: 'certified'; readonly certificate: StoredCertificate }
  | { readonly kind: 'marked'; readonly marked: Marked }
  | { readonly kind: 'nothing' }
  /** A memory of a store this request does not reach: told apart from an unknown one to nobody. */
  | { readonly kind: 'out_of_reach' }

/** @param certificate_id minted for this request, or recorded by its first run */
export async function begin(
  kernel: Kernel,
  tx: Tx,
  request: EraseRequest,
  certificate_id: string,
): Promise<Begun> {
  // Hidden after the turn's end, a memory would stay so with nobody at work on it.
  await requireTurn(kernel, tx)
  meter(tx, request.operation)
  const { ref } = request
  const own = await findCertificate(tx, certificate_id)
  const certified = own ?? (await findStanding(tx, 'fact', String(ref)))
  if (certified) {
    const certificate = readRecord(certified.record)
    return reaches(request, certificate.store_id)
      ? { kind: 'certified', certificate }
      : { kind: 'out_of_reach' }
  }
  const [place] = await findPlaces(tx, [ref])
  if (place) {
    if (!reaches(request, place.store_id)) return { kind: 'out_of_reach' }
    await markErasing(tx, [ref])
    const { store_id } = place
    return { kind: 'marked', marked: { ref, store_id, outcome: 'erased', certificate_id } }
  }
  if (request.facts_only || request.allowed_stores.length > 0) return { kind: 'out_of_reach' }
  if (await isNamedByDecision(tx, ref)) {
    await refuseHeldUses(tx, ref, tx.now())
    // From here on no write takes the number: what is erased under it is known to be all.
    await insertBareTombstone(tx, { ref, store_id: null, seq: HELD_SEQ, us: tx.now() })
    const marked: Marked = { ref, store_id: null, outcome: 'already_absent', certificate_id }
    return { kind: 'marked', marked }
  }
  return { kind: 'nothing' }
}

/** A credential limited to stores reaches no subject outside them, nor one without a store. */
function reaches(request: EraseRequest, store_id: string | null): boolean {
  const { store_id: wanted, allowed_stores, facts_only } = request
  if (store_id === null) return !facts_only && allowed_stores.length === 0
  if (wanted !== null && wanted !== store_id) return false
  return allowed_stores.length === 0 || allowed_stores.includes(store_id)
}
