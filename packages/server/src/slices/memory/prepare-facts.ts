// Everything a write needs before its unit of work: limits, tokens, vector, signature, seal.

import { type JsonObject, limits } from '@custos/contract'
import type { Kernel } from '../../platform/kernel.ts'
import type { Signer, TenantKeys } from '../../platform/keys/keyring.ts'
import { makePacer } from '../../platform/pacer.ts'
import { Refusal } from '../../platform/refusal.ts'
import type { Tokenizer } from '../../platform/tokens/tokenizer.ts'
import { commitmentOf, factIdBytes } from './fact-identity.ts'
import { wireTenant } from './namespace.ts'
import { type RefSecret, refStock } from './ref-stock.ts'
import { sealFact } from './sealed-fact.ts'
import type { StoreSettings } from './store-settings.ts'
import { embedContents, type Vector } from './vectors.ts'

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
  /** Null: the embedder had none to give. */
  readonly vector: Int8Array | null
  readonly space_mark: number | null
  /** The embedder could not answer: the vector is to be made later. */
  readonly owed: boolean
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
  if (isDeeper(draft.metadata, limits.metadata_depth))
    throw tooLong(where, `metadata is nested ${limits.metadata_depth} levels at most`)
  if (Buffer.byteLength(JSON.stringify(draft.metadata)) > limits.metadata_bytes)
    throw tooLong(where, `metadata has ${limits.metadata_bytes} bytes at most`)
}

const tooLong = (loc: readonly (string | number)[], msg: string): Refusal =>
  new Refusal('validation', undefined, { detail: [{ loc, msg, type: 'too_long' }] })

/** Never recurses beyond `levels`: an import's line is not bounded by the body parser. */
function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  return Object.values(value).some((member) => isDeeper(member, levels - 1))
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
  const maker: Maker = {
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
  const pace = makePacer()
  for (const [i, draft] of drafts.entries()) {
    const [taken, vector] = [refs[i], vectors[i]]
    if (!taken || !vector) throw new Error('a draft lacks its ref or vector')
    facts.push(prepareOne(maker, draft, taken, vector))
    await pace()
  }
  return facts
}

interface Maker {
  readonly kernel: Kernel
  readonly author: Author
  readonly store_id: string
  readonly tokenizer: Tokenizer
  readonly keys: TenantKeys
  readonly signer: Signer
}

function prepareOne(
  { kernel, author, store_id, tokenizer, keys, signer }: Maker,
  draft: FactDraft,
  taken: RefSecret,
  { numbers, space, owed }: Vector,
): PreparedFact {
  const { tenant_id } = author
  const { content, metadata, namespace, original_written_us } = draft
  const id = factIdBytes(content, wireTenant(tenant_id, namespace))
  const content_hash = id.toString('hex')
  const salt = Buffer.from(kernel.ids.hex(32), 'hex')
  const document = {
    content,
    metadata,
    write_id: kernel.ids.hex(16),
    fact_id: content_hash,
    signature: signer.sign(id).toString('base64'),
    signer_key_id: signer.key_id,
    principal: author.principal,
    commitment_salt: salt.toString('hex'),
    ...(original_written_us === undefined ? {} : { original_written_us }),
    space: space?.name ?? null,
  }
  return {
    ref: taken.ref,
    namespace,
    sealed: sealFact(keys, { tenant_id, store_id, ...taken }, { document, vector: numbers }),
    token_count: tokenizer.count(content),
    commitment: commitmentOf(content, salt),
    content_hash,
    content,
    metadata,
    vector: numbers,
    space_mark: space?.mark ?? null,
    owed,
    bytes: Buffer.byteLength(content),
  }
}
