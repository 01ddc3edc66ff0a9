// Pure: the sealed document of a decision, and the clear head that names the keys to open it.

import type { KeyObject } from 'node:crypto'
import type { JsonObject } from '@custos/contract'
import { jsonPayload, sealedColumn } from '../../../platform/kernel/sealed-column.ts'

/** All parts of a decision in which a person may be named, and what belongs to them. */
export interface DecisionDocument {
  readonly query: string
  readonly output: string
  readonly session_id: string | null
  readonly parameters: JsonObject | null
  readonly refs: readonly number[]
  /** Empty, or one entry per ref; `true` stands for the content of the stored fact itself. */
  readonly contents: readonly (string | true)[]
  readonly scores: readonly number[]
  /** Distinct refs, ascending, that were facts of the tenant when the decision was logged. */
  readonly known: readonly number[]
  /** Distinct refs, ascending, that had been erased before the decision was logged. */
  readonly gone: readonly number[]
  /** Refs whose content has been removed from this document. */
  readonly scrubbed: readonly number[]
  /** Text replaced by the marker `count` times. `ref` is the fact, `null` for the whole text. */
  readonly redactions: readonly {
    readonly field: string
    readonly count: number
    readonly ref: number | null
  }[]
  /**
   * Salt of the commitments in the digest, 32 bytes in base64. `null` once anything was removed:
   * with the salt and the digest on the log, a guess of the removed text could be confirmed.
   */
  readonly commitment_salt: string | null
  readonly record_digest: string
  readonly signature: string
  readonly public_key: string
  readonly key_id: string
}

/** Secret number of a redacted decision, which has neither text nor a secret of its own. */
export const NO_SECRET = 0

/** Readable without a key; lists the secrets that form the key. */
export interface SealedHead {
  /** Number of the decision's own secret, or NO_SECRET. The row's `secret_no` is a copy. */
  readonly secret_no: number
  /** Increases each time the document is sealed again. */
  readonly revision: number
  /** Refs, ascending, of the facts whose secrets are part of the key. */
  readonly bound: readonly number[]
}

const VERSION = 1
const HEAD_BYTES = 15
const REF_BYTES = 8

/**
 * version u8 (=1) ‖ revision u32 ‖ secret_no u64 ‖ count u16 ‖ count refs u64 ‖ box, numbers
 * big-endian.
 */
export function encodeHead({ secret_no, revision, bound }: SealedHead): Buffer {
  const head = Buffer.alloc(HEAD_BYTES + bound.length * REF_BYTES)
  head.writeUInt8(VERSION, 0)
  head.writeUInt32BE(revision, 1)
  head.writeBigUInt64BE(BigInt(secret_no), 5)
  head.writeUInt16BE(bound.length, 13)
  bound.forEach((ref, i) => {
    head.writeBigUInt64BE(BigInt(ref), HEAD_BYTES + i * REF_BYTES)
  })
  return head
}

/** Splits the value of the `sealed` column; `box` is nonce ‖ ciphertext ‖ tag. */
export function readSealed(sealed: Uint8Array): { head: SealedHead; box: Uint8Array } {
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength)
  if (bytes.length < HEAD_BYTES || bytes.readUInt8(0) !== VERSION)
    throw new Error('a sealed decision of an unknown version')
  const count = bytes.readUInt16BE(13)
  const bound = Array.from({ length: count }, (_, i) =>
    Number(bytes.readBigUInt64BE(HEAD_BYTES + i * REF_BYTES)),
  )
  const [revision, secret_no] = [bytes.readUInt32BE(1), Number(bytes.readBigUInt64BE(5))]
  return {
    head: { secret_no, revision, bound },
    box: bytes.subarray(HEAD_BYTES + count * REF_BYTES),
  }
}

/** Number of leading bytes of a sealed document that include its revision. */
export const REVISION_BYTES = 5

/** @param start the first bytes of a sealed document */
export const readRevision = (start: Uint8Array): number =>
  Buffer.from(start.buffer, start.byteOffset, start.byteLength).readUInt32BE(1)

const documentColumn = sealedColumn({
  domain: 'decision',
  ids: (tenant_id, { owner, head }: Pick<SealInput, 'owner' | 'head'>) => [
    tenant_id,
    owner.decision_id,
    head.secret_no,
    head.revision,
    ...head.bound,
  ],
  payload: jsonPayload<DecisionDocument>(),
})

interface SealInput {
  /** Owner of the document: associated data, so that no sealed row can replace another. */
  readonly owner: { readonly tenant_id: string; readonly decision_id: string }
  readonly head: SealedHead
  readonly key: KeyObject
}

/** The bytes of the `sealed` column. */
export function sealDocument(input: SealInput, document: DecisionDocument): Buffer {
  const box = documentColumn.seal(input.key, input.owner.tenant_id, input, document)
  return Buffer.concat([encodeHead(input.head), box])
}

/** Throws SealError if the key does not belong to this document or the bytes were changed. */
export const openDocument = (input: SealInput, box: Uint8Array): DecisionDocument =>
  documentColumn.open(input.key, input.owner.tenant_id, input, box)
