// Puts memories into a tenant's default store before it is measured.

import { preloadItems } from './scenarios.ts'

const AT_ONCE = 500

/** Puts policies before the operations of the tenant, in local mode. */
export async function preloadPolicies(base: string, policies: readonly object[]): Promise<void> {
  for (const policy of policies) {
    const answer = await fetch(`${base}/v1/governance/policies`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(policy),
    })
    if (!answer.ok) throw new Error(`preload failed: ${answer.status} ${await answer.text()}`)
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
