// Canaries through items: names and values are sealed with the memory, and erased with it.

import { marks, type SendParts } from './send-parts.ts'

export async function sendItems(parts: SendParts): Promise<void> {
  const { client, made } = parts
  const path = `/v1/stores/${made.stores[0]}/items`
  const put = marks(parts, 'items.put')
  const body = {
    namespace: [put.word('body.namespace[]')],
    key: put.word('body.key'),
    value: put.json('body.value'),
    index: [put.word('body.index[]')],
  }
  const sent = { body, headers: put.headers() }
  const { status, body: stored, text } = await client.ask('PUT', path, sent)
  if (status !== 200) throw new Error(text)
  made.refs.push(stored.ref)
  const ask = (verb: string, sent: object) => client.ok('POST', `${path}/${verb}`, sent)
  await ask('get', { body: nameOf(parts, 'items.get', 'body') })
  await ask('search', { body: searchOf(parts, 'items.search', 'body') })
  await ask('namespaces', { body: endsOf(parts, 'items.namespaces', 'body') })
  const { headers } = marks(parts, 'items.delete')
  await ask('delete', { body: nameOf(parts, 'items.delete', 'body'), headers: headers() })
  await sendBatch(parts, ask)
}

const nameOf = (parts: SendParts, id: string, at: string) => {
  const { word } = marks(parts, id)
  return { namespace: [word(`${at}.namespace[]`)], key: word(`${at}.key`) }
}

const searchOf = (parts: SendParts, id: string, at: string) => {
  const { text, word, json } = marks(parts, id)
  return {
    namespace_prefix: [word(`${at}.namespace_prefix[]`)],
    query: text(`${at}.query`),
    filter: json(`${at}.filter`),
  }
}

const endsOf = (parts: SendParts, id: string, at: string) => {
  const { word } = marks(parts, id)
  return { prefix: [word(`${at}.prefix[]`)], suffix: [word(`${at}.suffix[]`)] }
}

async function sendBatch(
  parts: SendParts,
  ask: (verb: string, sent: object) => Promise<{ results: { ref?: number }[] }>,
): Promise<void> {
  const [id, at] = ['items.batch', 'body.operations[]']
  const { json, word, headers } = marks(parts, id)
  const put = {
    ...nameOf(parts, id, at),
    value: json(`${at}.value`),
    index: [word(`${at}.index[]`)],
  }
  const operations = [
    { op: 'put', ...put },
    { op: 'search', ...searchOf(parts, id, at) },
    { op: 'namespaces', ...endsOf(parts, id, at) },
  ]
  const { results } = await ask('batch', { body: { operations }, headers: headers() })
  parts.made.refs.push(results[0]?.ref ?? 0)
}
