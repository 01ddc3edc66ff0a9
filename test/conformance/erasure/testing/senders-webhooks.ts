// Canaries through webhooks: URL and description are sealed, and leave with the endpoint.

import { marks, type SendParts } from './send-parts.ts'

export async function sendWebhooks(parts: SendParts): Promise<void> {
  const { client } = parts
  const path = '/v1/webhooks'
  const create = marks(parts, 'webhooks.create')
  const urlOf = (word: string) => `https://hooks.invalid/${word}`
  const body = {
    url: urlOf(create.word('body.url')),
    events: ['*'],
    description: create.text('body.description'),
  }
  const sent = { body, headers: create.headers() }
  const { status, body: made, text } = await client.ask('POST', path, sent)
  if (status !== 201) throw new Error(text)
  const update = marks(parts, 'webhooks.update')
  const { webhook_id } = await client.ok('POST', path, {
    body: { url: 'https://hooks.invalid/', events: ['memory.erased'] },
  })
  await client.ok('PUT', `${path}/${webhook_id}`, {
    body: { url: urlOf(update.word('body.url')), description: update.text('body.description') },
  })
  for (const id of [made.webhook_id, webhook_id]) await client.ok('POST', `${path}/${id}/test`)
}
