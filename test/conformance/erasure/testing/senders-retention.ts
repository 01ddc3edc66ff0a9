// Canaries through retention, legal holds and off-boarding.

import assert from 'node:assert/strict'
import { marks, type SendParts, twice } from './send-parts.ts'

export async function sendRetention(parts: SendParts): Promise<void> {
  const { client, made } = parts
  const store = `/v1/stores/${made.stores[0]}`
  const set = marks(parts, 'retention.set')
  const body = { retain_days: 3_650, basis: set.text('body.basis') }
  await client.ok('PUT', `${store}/retention`, { body })

  const place = marks(parts, 'retention.place_hold')
  const words = { reason: place.text('body.reason'), matter: place.word('body.matter') }
  const { hold_id } = await twice(
    parts,
    { status: 201, path: `${store}/holds` },
    { body: words, headers: place.headers() },
  )
  const release = marks(parts, 'retention.release_hold')
  const released = { reason: release.text('body.reason') }
  await client.ok('DELETE', `${store}/holds/${hold_id}`, { body: released })
}

/** A tenant of its own, which is gone for good then. */
export async function sendOffboarding(parts: SendParts): Promise<void> {
  const { operator, canaries } = parts
  const { tenant_id } = await operator.ok('POST', '/v1/cloud/tenants', { body: {} })
  const path = `/v1/admin/tenants/${tenant_id}/destroy-key`
  const { text, label } = marks(parts, 'offboarding.destroy_key')
  const wrong = await operator.ask('POST', path, { body: { confirm: text('body.confirm') } })
  assert.equal(wrong.status, 422, wrong.text)
  assert.deepEqual(canaries.foundIn(wrong.text), [])
  await operator.ok('POST', path, {
    body: {
      confirm: `destroy ${tenant_id}`,
      legal_basis: label('body.legal_basis'),
      requested_by: label('body.requested_by'),
    },
  })
}
