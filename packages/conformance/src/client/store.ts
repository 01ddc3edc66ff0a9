// A client for one store of a server: sends only what the wire protocol defines, and reads only the
// members that it needs.

import { isObject, isText } from '@custos/proof'
import type { Answer, Wire } from './wire.ts'

/** An opaque reference, compared only for equality. */
export type Ref = string | number

/** A key that is equal for equal refs. */
export const refKey = (ref: unknown): string => JSON.stringify(ref ?? null)

/** A budget larger than any store of a run, so that nothing is dropped. */
export const WHOLE_STORE = 2 ** 20

/** A memory in an answer; members that a server does not send are undefined. */
export type WireMemory = {
  readonly ref: Ref
  readonly content: string
  readonly valid_until: unknown
  readonly tenant_id: unknown
  readonly superseded_by: unknown
  readonly metadata: unknown
  readonly source: unknown
}

export type WriteOptions = {
  readonly valid_from?: string | null
  readonly tenant_id?: string | null
  readonly metadata?: Readonly<Record<string, string | number>>
}

export type RetrieveOptions = {
  readonly budget_tokens: number
  readonly as_of?: string | null
  readonly tenant_id?: string | null
}

export type Store = {
  readonly store_id: string
  capabilities(): Promise<readonly string[]>
  write(content: string, options: WriteOptions): Promise<Ref>
  supersede(old_ref: Ref, content: string, options: WriteOptions): Promise<Ref>
  /** Deletes a memory; returns whether it existed. */
  erase(ref: Ref): Promise<boolean>
  retrieve(query: string, options: RetrieveOptions): Promise<readonly WireMemory[]>
  audit(): Promise<readonly WireMemory[]>
  flush(): Promise<void>
}

/** An answer with an error status. */
export class RequestRefused extends Error {
  readonly operation: string
  readonly status: number
  /** The member `error` of the body, when it is a short word. */
  readonly code: string | null

  constructor(operation: string, { status, body }: Answer) {
    const word = isObject(body) && isText(body['error']) ? body['error'] : ''
    const code = /^[a-z0-9_]{1,64}$/.test(word) ? word : null
    super(`${operation} answered ${status}${code === null ? '' : ` ${code}`}`)
    this.operation = operation
    this.status = status
    this.code = code
  }
}

/** A successful answer whose body does not follow the protocol. */
export class MalformedAnswer extends Error {}

const PAGES_MAX = 1_000
const CAPABILITIES_MAX = 100
/** Names from the server that appear in a result: printable ASCII of limited length. */
const PLAIN = /^[\x21-\x7e]{1,256}$/

export function openStore(wire: Wire, store_id: string): Store {
  const base = `/v1/stores/${encodeURIComponent(store_id)}`
  const call = async (operation: string, body?: unknown) => {
    const answer = await wire(body === undefined ? 'GET' : 'POST', `${base}/${operation}`, body)
    return bodyOf(operation, answer)
  }
  return {
    store_id,
    async capabilities() {
      const { capabilities } = await call('capabilities')
      if (Array.isArray(capabilities) && capabilities.every(isText))
        return capabilities.filter((name) => PLAIN.test(name)).slice(0, CAPABILITIES_MAX)
      throw new MalformedAnswer('capabilities has no list of names')
    },
    async write(content, options) {
      return refOf('write', await call('write', { content, options: full(options) }))
    },
    async supersede(old_ref, content, options) {
      const body = { old_ref, content, options: full(options) }
      return refOf('supersede', await call('supersede', body))
    },
    async erase(ref) {
      const { deleted } = await call('delete', { ref })
      if (typeof deleted === 'boolean') return deleted
      throw new MalformedAnswer('delete does not say whether it deleted')
    },
    async retrieve(query, { budget_tokens, as_of = null, tenant_id = null }) {
      const options = { budget_tokens, as_of, tenant_id, top_k: null }
      return memoriesOf('retrieve', await call('retrieve', { query, options }))
    },
    audit: () => readPages(call),
    async flush() {
      await call('flush', {})
    },
  }
}

/** Creates a store for a part of the run. Throws RequestRefused or MalformedAnswer. */
export async function createStore(wire: Wire, name: string): Promise<Store> {
  const marked = await wire('POST', '/v1/stores', { name, self_test: true })
  // A server that does not know the member may refuse it.
  const answer = marked.status === 422 ? await wire('POST', '/v1/stores', { name }) : marked
  const body = bodyOf('create store', answer)
  const { store_id } = body
  if (!isText(store_id) || !PLAIN.test(store_id))
    throw new MalformedAnswer('create store has no store_id')
  return openStore(wire, store_id)
}

type Body = Readonly<Record<string, unknown>>

function bodyOf(operation: string, answer: Answer): Body {
  if (answer.status < 200 || answer.status > 299) throw new RequestRefused(operation, answer)
  if (isObject(answer.body)) return answer.body
  throw new MalformedAnswer(`${operation} answered ${answer.status} without a JSON object`)
}

// The reference client sends every option, with null for unused ones.
const full = ({ valid_from = null, tenant_id = null, metadata = {} }: WriteOptions) => ({
  valid_from,
  tenant_id,
  metadata,
})

function refOf(operation: string, { ref }: Body): Ref {
  if (isText(ref) || typeof ref === 'number') return ref
  throw new MalformedAnswer(`${operation} has no ref`)
}

function memoriesOf(operation: string, { memories }: Body): WireMemory[] {
  if (!Array.isArray(memories)) throw new MalformedAnswer(`${operation} has no memories`)
  return memories.map((memory) => {
    if (!isObject(memory) || !isText(memory['content']))
      throw new MalformedAnswer(`${operation} has a memory without content`)
    const { valid_until, tenant_id, superseded_by, metadata, source, content } = memory
    const ref = refOf(operation, memory)
    return {
      ref,
      content: String(content),
      valid_until,
      tenant_id,
      superseded_by,
      metadata,
      source,
    }
  })
}

// Servers with a paged audit name the next page; others answer everything at once.
async function readPages(call: (operation: string) => Promise<Body>): Promise<WireMemory[]> {
  const all: WireMemory[] = []
  let query = ''
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const body = await call(`audit${query}`)
    all.push(...memoriesOf('audit', body))
    if (!isText(body['next_cursor'])) return all
    query = `?cursor=${encodeURIComponent(body['next_cursor'])}`
  }
  throw new MalformedAnswer(`audit has more than ${PAGES_MAX} pages`)
}
