// Every text a tenant can read through the API, in one: what was erased must not be in it.

import type { Client } from './client.ts'

const REPLAYS_MAX = 200

/** The words of the erased content are asked for as well: a search must not find them either. */
export async function readEverything(client: Client, words: string): Promise<string> {
  const texts: string[] = []
  const add = async (method: string, path: string, body?: unknown) => {
    const sent = body === undefined ? {} : { body }
    texts.push((await client.ask(method, path, sent)).text)
  }
  const stores = await client.all('/v1/stores', 'stores')
  for (const { store_id } of stores) {
    const store = `/v1/stores/${store_id}`
    for (const path of ['', '/audit', '/export', '/memories?limit=1000'])
      await add('GET', `${store}${path}`)
    await add('POST', `${store}/retrieve`, { query: words, budget_tokens: 100_000 })
  }
  texts.push(JSON.stringify(stores))
  await add('GET', '/v1/decisions/export')
  const decisions = await client.all('/v1/decisions', 'decisions')
  for (const { decision_id } of decisions.slice(0, REPLAYS_MAX)) {
    await add('GET', `/v1/decisions/${decision_id}`)
    await add('GET', `/v1/decisions/${decision_id}/replay`)
  }
  await add('GET', '/v1/governance/policies')
  await add('GET', '/v1/governance/logs?limit=500')
  await add('GET', '/v1/governance/stats')
  await add('GET', '/v1/webhooks')
  texts.push(JSON.stringify(await client.all('/v1/erasure', 'certificates')))
  texts.push(JSON.stringify(await client.all('/v1/gcrumbs/breadcrumbs', 'breadcrumbs')))
  return texts.join('\n')
}
