// Puts memories into a tenant's default store before it is measured.

import { preloadItems } from './scenarios.ts'

const AT_ONCE = 500

/** Puts policies before the operations of the tenant, in local mode. */
export const preloadPolicies = (base: string, policies: readonly object[]): Promise<void> =>
  preloadRequests(
    base,
    policies.map((body) => ({ path: '/v1/governance/policies', body })),
  )

/** One after the other, in local mode. */
export async function preloadRequests(
  base: string,
  requests: readonly { readonly path: string; readonly body: object }[],
): Promise<void> {
  for (const { path, body } of requests) {
    const answer = await fetch(`${base}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`preload failed: ${answer.status} ${text}`)
  }
}

/** @param authorization of the tenant; none in local mode */
export async function preload(base: string, count: number, authorization = ''): Promise<void> {
  const items = preloadItems(count)
  for (let at = 0; at < items.length; at += AT_ONCE) {
    const answer = await fetch(`${base}/v1/stores/default/write_batch`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(authorization && { authorization }) },
      body: JSON.stringify({ items: items.slice(at, at + AT_ONCE) }),
    })
    if (!answer.ok) throw new Error(`preload failed: ${answer.status} ${await answer.text()}`)
  }
}
