// Canaries through requests of data subjects: what is searched for, where, by whom and why.

import { setTimeout as delay } from 'node:timers/promises'
import { answered, marks, type SendParts } from './send-parts.ts'

const PATH = '/v1/erasure/subject'
const WAITS_MAX = 500

export async function sendSubjects(parts: SendParts): Promise<void> {
  const { client, canaries } = parts
  const erase = marks(parts, 'subjects.erase')
  const group = (of: ReturnType<typeof marks>, operation: string, place: string) => {
    const key = canaries.mark(operation, `${place}.metadata{}`)
    const session_id = of.text(`${place}.session_id`)
    return { text: of.text(`${place}.text`), session_id, metadata: { [key]: `${key} value` } }
  }
  const find = (of: ReturnType<typeof marks>, operation: string) =>
    group(of, operation, 'body.find')
  const either = (of: ReturnType<typeof marks>, operation: string) => [
    group(of, operation, 'body.find[]'),
  ]
  const body = {
    find: find(erase, 'subjects.erase'),
    legal_basis: erase.label('body.legal_basis'),
    requested_by: erase.label('body.requested_by'),
  }
  const digestOf = async (asked: object) =>
    (await client.ok('POST', PATH, { body: { ...asked, preview: true } })).digest
  const confirmed = { ...body, expect_digest: await digestOf(body) }
  const sent = { body: confirmed, headers: erase.headers() }
  const { request_id } = await answered(parts, { status: 202, path: PATH }, sent)
  await untilDone(parts, request_id)
  const others = { ...body, find: either(erase, 'subjects.erase') }
  const any = { ...others, expect_digest: await digestOf(others) }
  await untilDone(parts, (await client.ok('POST', PATH, { body: any })).request_id)
  // Where nothing is, nothing is searched: a name of a store, and of a namespace.
  const store_ids = [erase.word('body.store_ids[]')]
  await client.ask('POST', PATH, { body: { ...confirmed, store_ids } })
  const inside = { ...body, namespace: erase.word('body.namespace') }
  const forgotten = { ...inside, expect_digest: await digestOf(inside) }
  await untilDone(parts, (await client.ok('POST', PATH, { body: forgotten })).request_id)

  const access = marks(parts, 'subjects.access')
  const asked = { find: find(access, 'subjects.access') }
  await client.ask('POST', `${PATH}/access`, { body: asked })
  const anyone = { find: either(access, 'subjects.access') }
  await client.ask('POST', `${PATH}/access`, { body: anyone })
  const other = [access.word('body.store_ids[]')]
  await client.ask('POST', `${PATH}/access`, { body: { ...asked, store_ids: other } })
  const namespace = access.word('body.namespace')
  await client.ask('POST', `${PATH}/access`, { body: { ...asked, namespace } })

  const extend = marks(parts, 'subjects.extend')
  const reason = extend.text('body.reason')
  await client.ask('POST', `${PATH}/${request_id}/extend`, { body: { reason } })
}

async function untilDone({ client }: SendParts, request_id: string): Promise<void> {
  for (let waits = 0; waits < WAITS_MAX; waits += 1) {
    const { completed_at } = await client.ok('GET', `${PATH}/${request_id}`)
    if (completed_at !== null) return
    await delay(10)
  }
  throw new Error('the erasure did not come to its end')
}
