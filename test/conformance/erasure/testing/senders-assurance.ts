// Canaries through assurance: the address of a webhook is its only text, and is refused.

import assert from 'node:assert/strict'
import { marks, type SendParts, twice } from './send-parts.ts'

export async function sendAssurance(parts: SendParts): Promise<void> {
  const { client, canaries } = parts
  const path = '/v1/assurance/schedules'
  const create = marks(parts, 'assurance.create_schedule')
  const refused = await client.ask('POST', path, {
    body: { alert_webhook: create.word('body.alert_webhook') },
  })
  assert.equal(refused.status, 422)
  const { schedule_id } = await twice(
    parts,
    { status: 200, path },
    { body: { checks: ['clock'] }, headers: create.headers() },
  )
  const update = marks(parts, 'assurance.update_schedule')
  const changed = await client.ask('PUT', `${path}/${schedule_id}`, {
    body: { alert_webhook: update.word('body.alert_webhook') },
  })
  assert.equal(changed.status, 422)
  for (const { text } of [refused, changed]) assert.deepEqual(canaries.foundIn(text), [])
}
