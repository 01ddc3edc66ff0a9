// Everything a write needs before its unit of work: limits, tokens, vector, signature, seal.

import { type JsonObject, limits } from '@custos/contract'
import type { Kernel } from '../../platform/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import { commitmentOf, factIdBytes } from './fact-identity.ts'
import { wireTenant } from './namespace.ts'
import { type RefSecret, refStock } from './ref-stock.ts'
import { sealFact, spaceOf } from './sealed-fact.ts'
import type { StoreSettings } from './store-settings.ts'

export interface FactDraft {
  readonly content: string
  readonly metadata: JsonObject
  readonly namespace: string | null
  readonly original_written_us?: number
}

export interface PreparedFact {
  readonly ref: number
  readonly namespace: string | null
  readonly sealed: Buffer
  readonly token_count: number
  readonly commitment: Buffer
  /** Hex GMP fact id. */
  readonly content_hash: string
  readonly content: string
  readonly metadata: JsonObject
  readonly vector: Int8Array
  readonly bytes: number
}

export interface Author {
  readonly tenant_id: string
  /** Key id of the credential. */
  readonly principal: string
}

/** Refuses content and metadata over their limits, naming where in the body they stand. */
export function checkLimits(draft: FactDraft, loc: readonly (string | number)[]): void {
  if (Buffer.byteLength(draft.content) > limits.content_bytes)
    throw tooLong([...loc, 'content'], `content has ${limits.content_bytes} bytes at most`)
  const where = [...loc, 'options', 'metadata']
  if (depthOf(draft.metadata) > limits.metadata_depth)
    throw tooLong(where, `metadata is nested ${limits.metadata_depth} levels at most`)
  if (Buffer.byteLength(JSON.stringify(draft.metadata)) > limits.metadata_bytes)
    throw tooLong(where, `metadata has ${limits.metadata_bytes} bytes at most`)
}

const tooLong = (loc: readonly (string | number)[], msg: string): Refusal =>
  new Refusal('validation', undefined, { detail: [{ loc, msg, type: 'too_long' }] })

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let deepest = 0
  for (const member of Object.values(value)) deepest = Math.max(deepest, depthOf(member))
  return deepest + 1
}

/** Takes refs for the drafts, in their order, and prepares each. */
export async function prepareFacts(
  kernel: Kernel,
  author: Author,
  store: StoreSettings,
  drafts: readonly FactDraft[],
): Promise<PreparedFact[]> {
  const refs = await refStock(kernel)(author.tenant_id).take(drafts.length)
  return prepareWithRefs(kernel, author, store, { drafts, refs })
}

/** The same with refs already taken, one for each draft. */
export async function prepareWithRefs(
  kernel: Kernel,
  author: Author,
  store: StoreSettings,
  { drafts, refs }: { drafts: readonly FactDraft[]; refs: readonly RefSecret[] },
): Promise<PreparedFact[]> {
  const tokenizer = await kernel.tokenizer(store.tokenizer)
  const keys = await kernel.keyring.tenant(author.tenant_id)
  const vectors = await kernel.embedder.embed(drafts.map((draft) => draft.content))
  const signer = kernel.keyring.signer('provenance')
  const space = spaceOf(kernel.embedder)
  return drafts.map((draft, i) => {
    const [taken, vector] = [refs[i], vectors[i]]
    if (!taken || !vector) throw new Error('a draft lacks its ref or vector')
    const id = factIdBytes(draft.content, wireTenant(author.tenant_id, draft.namespace))
    const salt = Buffer.from(kernel.ids.hex(32), 'hex')
    const document = {
      content: draft.content,
      metadata: draft.metadata,
      write_id: kernel.ids.hex(16),
      fact_id: id.toString('hex'),
      signature: signer.sign(id).toString('base64'),
      signer_key_id: signer.key_id,
      principal: author.principal,
      commitment_salt: salt.toString('hex'),
      ...(draft.original_written_us === undefined
        ? {}
        : { original_written_us: draft.original_written_us }),
      space,
    }
    const owner = { tenant_id: author.tenant_id, store_id: store.store_id, ...taken }
    return {
      ref: taken.ref,
      namespace: draft.namespace,
      sealed: sealFact(keys, owner, { document, vector }),
      token_count: tokenizer.count(draft.content),
      commitment: commitmentOf(draft.content, salt),
      content_hash: document.fact_id,
      content: draft.content,
      metadata: draft.metadata,
      vector,
      bytes: Buffer.byteLength(draft.content),
    }
  })
}
