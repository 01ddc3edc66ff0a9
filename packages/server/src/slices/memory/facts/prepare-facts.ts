// Prepares facts before their unit of work: checks limits, counts tokens, embeds, signs, seals.

import { limits, type WriteOptions } from '@custos/contract'
import { fromHex } from '../../../platform/bytes.ts'
import { parseTime } from '../../../platform/clock.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import type { Signer, TenantKeys } from '../../../platform/keys/keyring.ts'
import { formatNamespace } from '../../../platform/namespace.ts'
import type { Tokenizer } from '../../../platform/tokens/tokenizer.ts'
import { requireMetadataLimits, validationDetail } from '../../../platform/validation.ts'
import { yieldBetweenChunks } from '../../../platform/yield-between-chunks.ts'
import type { StoreSettings } from '../stores/store-settings.ts'
import { type ContentVector, embedContents } from './embeddings.ts'
import { type FactDraft, sealFactDocument } from './fact-document.ts'
import { computeCommitment, computeFactId } from './fact-identity.ts'
import { type RefSecret, refPool } from './ref-pool.ts'

const SECOND_US = 1_000_000

export interface PreparedFact
  extends Pick<FactDraft, 'namespace' | 'content' | 'metadata' | 'expires_us'> {
  readonly ref: number
  readonly sealed: Buffer
  readonly token_count: number
  readonly commitment: Buffer
  /** Hex GMP fact id. */
  readonly content_hash: string
  /** Null: the embedder gave none. */
  readonly vector: Int8Array | null
  readonly space_mark: number | null
  readonly embed_later: boolean
  /** UTF-8 bytes of the content. */
  readonly bytes: number
}

interface FactAuthor {
  readonly tenant_id: string
  /** Key id of the credential. */
  readonly principal: string
}

/** Refuses content and metadata over their limits and names their location in the body. */
export function checkFactLimits(draft: FactDraft, loc: readonly (string | number)[]): void {
  if (Buffer.byteLength(draft.content) > limits.content_bytes)
    throw validationDetail(
      [...loc, 'content'],
      `content has ${limits.content_bytes} bytes at most`,
      'too_long',
    )
  requireMetadataLimits([...loc, 'options', 'metadata'], draft.metadata)
}

/**
 * The expiry of a new memory. Refuses `validation`: two expiries, one that is over, or one that
 * ends the memory before it begins.
 */
export function parseExpiry(
  { expires_at, ttl_s }: Pick<WriteOptions, 'expires_at' | 'ttl_s'>,
  {
    now_us,
    valid_from_us,
    loc,
  }: { now_us: number; valid_from_us: number | null; loc: readonly (string | number)[] },
): Pick<FactDraft, 'expires_us'> {
  if (expires_at != null && ttl_s != null)
    throw validationDetail([...loc, 'ttl_s'], 'expires_at and ttl_s exclude each other', 'conflict')
  const name = ttl_s == null ? 'expires_at' : 'ttl_s'
  // The schema has checked the timestamp.
  const at_us = expires_at == null ? null : parseTime(expires_at)
  const expires_us = ttl_s == null ? at_us : now_us + ttl_s * SECOND_US
  if (expires_us === null) return {}
  if (expires_us <= now_us)
    throw validationDetail([...loc, name], `${name} is not in the future`, 'past')
  if (valid_from_us !== null && expires_us <= valid_from_us)
    throw validationDetail([...loc, name], `${name} ends the memory before valid_from`, 'order')
  return { expires_us }
}

/** Prepares drafts under new refs, ascending in the order of the drafts. */
export async function prepareFacts(
  kernel: Kernel,
  author: FactAuthor,
  store: StoreSettings,
  drafts: readonly FactDraft[],
): Promise<PreparedFact[]> {
  const refs = await refPool(kernel)(author.tenant_id).take(drafts.length)
  return prepareWithRefs(kernel, author, store, { drafts, refs })
}

/** Prepares drafts under refs that the caller has taken, one for each draft. */
export async function prepareWithRefs(
  kernel: Kernel,
  author: FactAuthor,
  store: StoreSettings,
  { drafts, refs }: { drafts: readonly FactDraft[]; refs: readonly RefSecret[] },
): Promise<PreparedFact[]> {
  const context: PrepareContext = {
    kernel,
    author,
    store_id: store.store_id,
    tokenizer: await kernel.tokenizer(store.tokenizer),
    keys: await kernel.keyring.tenant(author.tenant_id),
    signer: kernel.keyring.signer('provenance'),
  }
  const contents = drafts.map((draft) => draft.content)
  const vectors = await embedContents(kernel, store.embedder, contents)
  const facts: PreparedFact[] = []
  const pace = yieldBetweenChunks()
  for (const [i, draft] of drafts.entries()) {
    const [ref, vector] = [refs[i], vectors[i]]
    if (!ref || !vector) throw new Error('a draft lacks its ref or vector')
    facts.push(prepareFact(context, draft, ref, vector))
    await pace()
  }
  return facts
}

interface PrepareContext {
  readonly kernel: Kernel
  readonly author: FactAuthor
  readonly store_id: string
  readonly tokenizer: Tokenizer
  readonly keys: TenantKeys
  readonly signer: Signer
}

function prepareFact(
  { kernel, author, store_id, tokenizer, keys, signer }: PrepareContext,
  draft: FactDraft,
  { ref, secret }: RefSecret,
  { numbers: vector, space, embed_later }: ContentVector,
): PreparedFact {
  const { tenant_id } = author
  const { content, metadata, namespace, ...further } = draft
  const id = computeFactId(content, formatNamespace(tenant_id, namespace))
  const content_hash = id.toString('hex')
  const salt = fromHex(kernel.ids.hex(32))
  const document = {
    content,
    metadata,
    write_id: kernel.ids.hex(16),
    fact_id: content_hash,
    signature: signer.sign(id).toString('base64'),
    signer_key_id: signer.key_id,
    principal: author.principal,
    commitment_salt: salt.toString('hex'),
    ...further,
    space: space?.name ?? null,
  }
  return {
    ref,
    namespace,
    sealed: sealFactDocument(keys, { tenant_id, store_id, ref, secret }, { document, vector }),
    token_count: tokenizer.count(content),
    commitment: computeCommitment(content, salt),
    content_hash,
    content,
    metadata,
    ...(further.expires_us === undefined ? {} : { expires_us: further.expires_us }),
    vector,
    space_mark: space?.mark ?? null,
    embed_later,
    bytes: Buffer.byteLength(content),
  }
}
