// Probe of multi_tenant: namespaces of one credential, and the credential of another tenant.

import { isObject, isText } from '@custos/proof'
import { type Ref, RequestRefused, refKey, type Store, WHOLE_STORE } from '../client/store.ts'
import type { Answer, Wire } from '../client/wire.ts'
import { recallOf, rounded } from '../evaluation/replay.ts'
import { countTurns, type Probe, type ProbeContext, replayIn } from './probe.ts'

/** W5, then requests on the same store with the credential of another tenant. */
export const multiTenantProbe: Probe = {
  capability: 'multi_tenant',
  steps: (workloads) => countTurns(workloads.namespaces) + 8,
  async run(context) {
    const { checks, workloads, other } = context
    const { store, refs, observations } = await replayIn(context, workloads.namespaces)
    checks.noLeak('no namespace sees another', observations, ['foreign', 'unknown'])
    checks.recall('each namespace sees its own', observations)
    const recall = rounded(recallOf(observations))
    const metrics = { queries: observations.length, namespaces: 3, recall }
    const [ref] = refs.values()
    const without = "another tenant's credential was not given: only namespaces were looked at"
    if (other === null || ref === undefined) return { metrics, not_tested: without }
    const obstacle = await probeOther(context, { store, ref, other })
    return obstacle === null ? { metrics } : { metrics, not_tested: obstacle }
  },
}

type Target = { readonly store: Store; readonly ref: Ref; readonly other: Wire }

/** Why the other credential cannot serve as a test, or null. */
async function probeOther(context: ProbeContext, { store, ref, other }: Target) {
  const { checks, tick } = context
  let own: Store
  try {
    own = await context.openStore(other)
  } catch (error) {
    if (error instanceof RequestRefused)
      return `the other credential makes no store: ${error.message}`
    throw error
  }
  const tenants = await Promise.all([tenantIn(store), tenantIn(own)])
  if (tenants[0] === tenants[1]) return 'the other credential is of the same tenant'
  await checkClosed(context, { store, ref, other })
  checks.add(
    'a ref means nothing in a store of another tenant',
    !(await deletes(own, ref)),
    'nothing deleted',
  )
  tick()
  const listed = await other('GET', '/v1/stores')
  const seen = JSON.stringify(listed.body ?? null).includes(JSON.stringify(store.store_id))
  checks.add('the store is not listed to another tenant', !seen, `without ${store.store_id}`)
  const audited = context.declared.has('audit') ? await store.audit() : null
  const kept = audited === null || audited.some((memory) => refKey(memory.ref) === refKey(ref))
  checks.add('nothing was changed by another tenant', kept, `ref ${refKey(ref)} is still there`)
  tick()
  return null
}

/** The tenant that the store reports; two stores with the same one cannot be distinguished. */
async function tenantIn(store: Store): Promise<string | null> {
  const ref = await store.write('Written to learn whose store this is.', {})
  await store.flush()
  const query = 'Written to learn whose store this is.'
  const shown = await store.retrieve(query, { budget_tokens: WHOLE_STORE })
  const memory = shown.find((m) => refKey(m.ref) === refKey(ref))
  return isText(memory?.tenant_id) ? memory.tenant_id : null
}

/** Calls each operation on the store as the other tenant: refused, with no content in the body. */
async function checkClosed({ checks, tick }: ProbeContext, { store, ref, other }: Target) {
  const base = `/v1/stores/${encodeURIComponent(store.store_id)}`
  const asked = { query: 'Who lives where?', options: { budget_tokens: WHOLE_STORE } }
  const attempts: readonly (readonly [string, () => Promise<Answer>])[] = [
    ['capabilities', () => other('GET', `${base}/capabilities`)],
    ['retrieve', () => other('POST', `${base}/retrieve`, asked)],
    ['audit', () => other('GET', `${base}/audit`)],
    ['write', () => other('POST', `${base}/write`, { content: 'Not yours.', options: {} })],
    [
      'supersede',
      () => other('POST', `${base}/supersede`, { old_ref: ref, content: 'Not yours.' }),
    ],
    ['delete', () => other('POST', `${base}/delete`, { ref })],
  ]
  const open: string[] = []
  for (const [name, attempt] of attempts) {
    const { status, body } = await attempt()
    const empty = isObject(body) && (body['deleted'] === false || isEmptyList(body['memories']))
    if (status < 300 && !empty) open.push(`${name} (${status})`)
    tick()
  }
  checks.none('the store is closed to another tenant', open, 'refused, as if it were not there')
}

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0

async function deletes(own: Store, ref: Ref): Promise<boolean> {
  try {
    return await own.erase(ref)
  } catch (error) {
    if (error instanceof RequestRefused) return false
    throw error
  }
}
