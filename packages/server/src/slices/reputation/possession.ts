// Keys and signatures in requests: read, and proven to belong together.

import { checkStatement, isAgentKey, type JsonObject, type StatementKind } from '@custos/proof'
import { Refusal } from '../../platform/refusal.ts'
import { type Loc, validationDetail } from '../../platform/validation.ts'

/** A key in lower case; refuses one that proves nothing whoever holds it. */
export function readKey(key: string | null | undefined, loc: Loc): string | null {
  if (key === undefined || key === null) return null
  const lower = key.toLowerCase()
  if (isAgentKey(lower)) return lower
  throw validationDetail(loc, 'not an Ed25519 key that can prove anything', 'value_error')
}

interface Signed {
  readonly key: string | null
  readonly signature: string | null | undefined
  readonly signed_at: string | null | undefined
  /** Where the signature stands in the request. */
  readonly loc: Loc
}

/** Whether a signature came; refuses one that is not the key's over the statement. */
export async function proves(
  kind: StatementKind,
  { key, signature, signed_at, loc }: Signed,
  statement: (signed_at: string) => JsonObject,
): Promise<boolean> {
  if (signature === undefined || signature === null) return false
  if (key === null) throw validationDetail(loc, 'a signature comes with its key', 'missing')
  if (signed_at === undefined || signed_at === null)
    throw validationDetail(loc, 'a signature comes with `signed_at`', 'missing')
  const problem = await checkStatement(kind, statement(signed_at), signature.toLowerCase())
  if (problem !== null) throw new Refusal('possession_unproven')
  return true
}
