// Stores, memories, decisions and erasures, written as agents do.

import type { Body, Client } from './client.ts'

const ONCE = { 'idempotency-key': 'morning-round' }

export type Memories = Awaited<ReturnType<typeof fillMemory>>

export const at = (store_id: string, path: string): string => `/v1/stores/${store_id}${path}`

/** One with a name, labels and vectors, and one with nothing but what a store needs. */
export async function fillMemory(client: Client) {
  const ward = await client.post('/v1/stores', {
    name: 'Ward notes',
    labels: { team: 'north', ward: 3 },
  })
  const plain = await client.post('/v1/stores', { embedder: 'none', tokenizer: 'chars' })
  const stores = { ward: String(ward.store_id), plain: String(plain.store_id) }
  const refs = await writeWard(client, stores.ward)
  const kept = await client.post(at(stores.plain, '/write'), {
    content: 'The archive key hangs behind the door',
  })
  await client.post('/v1/stores/default/write', { content: 'Nobody named a store for this' })
  const job_id = await deleteAnother(client)
  const decisions = await decide(client, stores.ward, refs)
  return { stores, refs: { ...refs, kept: Number(kept.ref) }, decisions, job_id }
}

/** What the request with the key of `ONCE` was. */
export const ROUND = { content: 'The morning round begins at seven', metadata: { topic: 'rounds' } }

export const writeOnce = (client: Client, store_id: string): Promise<Body> =>
  client.post(at(store_id, '/write'), ROUND, ONCE)

const IMPORTED = '{"content":"The lift was new then","written_at":"2020-03-01T00:00:00.000000Z"}\n'

async function writeWard(client: Client, store_id: string) {
  const write = async (content: string, more: object = {}): Promise<number> =>
    (await client.post(at(store_id, '/write'), { content, ...more })).ref
  const supersede = async (old_ref: number, content: string): Promise<number> =>
    (await client.post(at(store_id, '/supersede'), { old_ref, content })).ref
  const round: number = (await writeOnce(client, store_id)).ref
  const first = await write('Bed 4 is free', { valid_from: '2026-01-05T08:00:00Z' })
  const second = await supersede(first, 'Bed 4 is taken by Zoë Ångström')
  const third = await supersede(second, 'Bed 4 is free again — window open 🪟')
  const batch = await client.post(at(store_id, '/write_batch'), {
    items: [
      { content: 'The blue box holds the spare keys' },
      { content: 'Visitors may stay until eight', metadata: { session: 's-1', weight: 0.5 } },
      { content: 'The night shift drinks tea', namespace: 'night' },
    ],
  })
  const [keys, visitors, night] = batch.refs
  await client.post(at(store_id, '/import'), IMPORTED, { 'content-type': 'application/x-ndjson' })
  return {
    ...{ round, first, second, third, keys, visitors, night },
    bicycle: await write('Per Holm owns a red bicycle', { metadata: { person: 'Per Holm' } }),
    iris: await write('Iris Keller is allergic to nuts', { metadata: { person: 'Iris Keller' } }),
  }
}

async function deleteAnother(client: Client): Promise<string> {
  const { store_id } = await client.post('/v1/stores', { name: 'Of last year' })
  await client.post(at(store_id, '/write'), { content: 'Soon nobody knows this' })
  const { job_id } = await client.ok('DELETE', at(store_id, ''))
  await client.done(job_id)
  return job_id
}

type Refs = Awaited<ReturnType<typeof writeWard>>

/** Of one the fact goes, of another its own text, the third stays as it is. */
async function decide(client: Client, store_id: string, refs: Refs) {
  const log = async (output: string, refs: readonly number[], contents: readonly string[]) => {
    const { decision_id } = await client.post('/v1/decisions/log', {
      ...{ store_id, model_id: 'model-a', session_id: 's-1', query: `Of ${refs.join()}?`, output },
      ...{ retrieved_refs: refs, retrieved_contents: contents },
      retrieved_scores: refs.map((_, i) => 1 / (i + 1)),
      ...{ token_count: 12, latency_ms: 3.25, parameters: { temperature: 0.5 } },
    })
    return String(decision_id)
  }
  const [bed, keys] = ['Bed 4 is free again — window open 🪟', 'The blue box holds the spare keys']
  return {
    kept: await log('Take bed 4', [refs.third, refs.keys], [bed, keys]),
    scrubbed: await log(
      'I know that Per Holm owns a red bicycle',
      [refs.bicycle],
      ['Per Holm owns a red bicycle'],
    ),
    redacted: await log('Nobody may read this', [refs.keys], [keys]),
    naming: await log('No nuts for Iris Keller', [refs.iris], ['Iris Keller is allergic to nuts']),
  }
}

/** A memory, a decision's own text, and everything about a person; with their certificates. */
export async function eraseSome(client: Client, { refs, decisions }: Memories) {
  const certificate = await client.post('/v1/erasure/issue', {
    fact_ref: refs.bicycle,
    legal_basis: 'consent withdrawn',
    requested_by: 'data subject',
  })
  const redaction = await client.post(`/v1/decisions/${decisions.redacted}/redact`)
  const find = { text: 'Iris Keller' }
  const { digest } = await client.post('/v1/erasure/subject', { find, preview: true })
  const asked = { find, expect_digest: digest }
  const { request_id } = await client.post('/v1/erasure/subject', asked)
  const subject = `/v1/erasure/subject/${request_id}`
  await client.until(subject, ({ completed_at }) => completed_at !== null)
  await client.post('/v1/erasure/subject/access', { find: { text: 'Zoë' } })
  return {
    certificate_id: String(certificate.certificate_id),
    content_salt: String(certificate.content_salt),
    redaction_id: String(redaction.certificate_id),
    request_id: String(request_id),
  }
}
