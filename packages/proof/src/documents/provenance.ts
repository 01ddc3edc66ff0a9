// Memory provenance: the signature in the `source` of a memory (GMP).
import { factId } from '../core/digest.ts'
import { readBase64, toHex } from '../core/encoding.ts'
import type { PublishedKey } from '../core/keys.ts'
import { isObject, isText, orNull } from '../core/shape.ts'
import {
  addCheck,
  checkSignature,
  finishVerdict,
  malformedVerdict,
  startVerdict,
  type Verdict,
} from '../core/verdict.ts'

/** The provenance of one memory on the wire. `signature` and `public_key` are base64. */
export type MemorySource = {
  readonly write_id: string
  readonly written_at: string
  /** The public key of the writer in hex. */
  readonly written_by: string | null
  readonly signature: string | null
  readonly public_key: string | null
  readonly key_id?: string
}

/**
 * Verifies that a published provenance key signed the memory's content and tenant value exactly as
 * shown. The signed message is the 16 bytes of `factId(content, tenant_id)`. Never throws.
 */
export async function verifyMemory(
  memory: unknown,
  keys: readonly PublishedKey[],
): Promise<Verdict> {
  if (!isObject(memory)) return malformedVerdict('memory', 'not an object')
  const { content, tenant_id = null, source } = memory
  if (!isText(content)) return malformedVerdict('memory', 'content')
  if (!orNull(isText)(tenant_id)) return malformedVerdict('memory', 'tenant_id')
  if (!isObject(source)) return malformedVerdict('memory', 'source')

  const findings = startVerdict()
  const writtenBy = source['written_by'] ?? null
  if (writtenBy !== null) {
    const publicKey = readBase64(source['public_key'])
    const same = publicKey !== null && writtenBy === toHex(publicKey)
    addCheck(findings, 'written_by', same, 'names another key')
  }
  const { written_at } = source
  const claim = {
    message: factId(content, isText(tenant_id) ? tenant_id : null),
    signature: source['signature'],
    public_key: source['public_key'],
    key_id: source['key_id'],
    purpose: 'provenance',
    ...(isText(written_at) ? { at: written_at } : {}),
  }
  await checkSignature(findings, claim, keys)
  findings.notChecked.push('only content and tenant_id are signed')
  return finishVerdict('memory', findings)
}
