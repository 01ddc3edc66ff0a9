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
import { searchedText } from './item-name.ts'
import { type RefSecret, refPool } from './ref-pool.ts'
import { markSession, type SessionMark } from './sessions.ts'

const SECOND_US = 1_000_000

export interface PreparedFact
  extends Pick<FactDraft, 'namespace' | 'content' | 'metadata' | 'expires_us' | 'item'> {
  readonly ref: number
  readonly sealed: Buffer
  readonly token_count: number
  readonly commitment: Buffer
  /** Hex GMP fact id. */
  readonly content_hash: string
  /** `null` if the embedder returned no vector. */
  readonly vector: Int8Array | null
  readonly space_mark: number | null
  readonly embed_later: boolean
  /** `null` if the fact names no session or the store makes no digests. */
  readonly session: SessionMark | null
  /** UTF-8 bytes of the content. */
  readonly bytes: number
}

interface FactAuthor {
  readonly tenant_id: string
  /** Key id of the credential. */
  readonly principal: string
}

/** Refuses content and metadata over their limits; the refusal gives their location in the body. */
export function checkFactLimits(draft: FactDraft, loc: readonly (string | number)[]): void {
  if (Buffer.byteLength(draft.content) > limits.content_bytes)
    throw validationDetail(
      [...loc, 'content'],
      `content must not exceed ${limits.content_bytes} bytes`,
      'too_long',
    )
  requireMetadataLimits([...loc, 'options', 'metadata'], draft.metadata)
}

/**
 * The expiry of a new memory. Refuses `validation` for two expiries, an expiry in the past, and one
 * that ends the memory before it begins.
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

/** Prepares drafts under new refs, which ascend in the order of the drafts. */
export async function prepareFacts(
  kernel: Kernel,
  author: FactAuthor,
  store: StoreSettings,
  drafts: readonly FactDraft[],
): Promise<PreparedFact[]> {
  const refs = await refPool(kernel)(author.tenant_id).take(drafts.length)
  return prepareWithRefs(kernel, author, store, { drafts, refs })
}

/** Prepares drafts under refs that the caller has reserved, one for each draft. */
export async function prepareWithRefs(
  kernel: Kernel,
  author: FactAuthor,
  store: StoreSettings,
  { drafts, refs }: { drafts: readonly FactDraft[]; refs: readonly RefSecret[] },
): Promise<PreparedFact[]> {
  const signer = kernel.keyring.signer('provenance')
  const context: PrepareContext = {
    kernel,
    author,
    store,
    tokenizer: await kernel.tokenizer(store.tokenizer),
    keys: await kernel.keyring.tenant(author.tenant_id),
    signer_key_id: signer.key_id,
  }
  const pace = yieldBetweenChunks()
  const ids: Buffer[] = []
  for (const { content, namespace } of drafts) {
    ids.push(computeFactId(content, formatNamespace(author.tenant_id, namespace)))
    await pace()
  }
  const contents = drafts.map(searchedText)
  // Signatures are started first: other threads compute them while this one embeds.
  const [signatures, vectors] = await Promise.all([
    signIds(signer, ids),
    embedContents(kernel, store.embedder, contents),
  ])
  const facts: PreparedFact[] = []
  for (const [i, draft] of drafts.entries()) {
    const [ref, id, signature, vector] = [refs[i], ids[i], signatures[i], vectors[i]]
    if (!ref || !id || !signature || !vector) throw new Error('a draft lacks one of its parts')
    facts.push(prepareFact(context, draft, { ...ref, id, signature, vector }))
    await pace()
  }
  return facts
}

/** From this number on, signing in worker threads is faster than signing here (measured). */
const SIGNED_ASIDE_MIN = 8

const signIds = async (signer: Signer, ids: readonly Buffer[]): Promise<Buffer[]> =>
  ids.length < SIGNED_ASIDE_MIN ? ids.map((id) => signer.sign(id)) : signer.signAll(ids)

interface PrepareContext {
  readonly kernel: Kernel
  readonly author: FactAuthor
  readonly store: StoreSettings
  readonly tokenizer: Tokenizer
  readonly keys: TenantKeys
  readonly signer_key_id: string
}

function prepareFact(
  { kernel, author, store, tokenizer, keys, signer_key_id }: PrepareContext,
  draft: FactDraft,
  parts: RefSecret & { id: Buffer; signature: Buffer; vector: ContentVector },
): PreparedFact {
  const { tenant_id } = author
  const { store_id } = store
  const { content, metadata, namespace, ...further } = draft
  const { ref, secret, id } = parts
  const { numbers: vector, space, embed_later } = parts.vector
  const content_hash = id.toString('hex')
  const salt = fromHex(kernel.ids.hex(32))
  const document = {
    content,
    metadata,
    write_id: kernel.ids.hex(16),
    fact_id: content_hash,
    signature: parts.signature.toString('base64'),
    signer_key_id,
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
    ...(further.item && { item: further.item }),
    vector,
    space_mark: space?.mark ?? null,
    embed_later,
    session: markSession(keys, store, draft),
    bytes: Buffer.byteLength(content),
  }
}
