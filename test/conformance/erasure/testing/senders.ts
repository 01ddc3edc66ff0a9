// Sends a canary through every text of every operation's body; what it made is erased afterwards.

import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import type { Memory } from '@custos/contract'
import type { Answer, Client } from '../../../crash/testing/client.ts'
import { marks, refused, type SendParts, unusedFields } from './send-parts.ts'
import { sendAssurance } from './senders-assurance.ts'
import { sendItems } from './senders-items.ts'
import { sendRuns } from './senders-orchestrator.ts'
import { sendRegistries } from './senders-registries.ts'
import { sendReports } from './senders-reports.ts'
import { sendReputation } from './senders-reputation.ts'
import { sendOffboarding, sendRetention } from './senders-retention.ts'
import { sendConnections } from './senders-sso.ts'
import { sendSubjects } from './senders-subjects.ts'
import { sendWebhooks } from './senders-webhooks.ts'
import { sendWorldModel } from './senders-world-model.ts'

const UNKNOWN_REF = 800_001

export async function sendEverywhere(parts: SendParts): Promise<void> {
  await createStore(parts)
  await writeMemories(parts)
  await importMemories(parts)
  await sendItems(parts)
  await retrieve(parts)
  await logDecisions(parts)
  await erase(parts)
  await govern(parts)
  await sendRegistries(parts)
  await sendWorldModel(parts)
  await sendReputation(parts)
  await sendReports(parts)
  await sendSubjects(parts)
  await sendRetention(parts)
  await sendOffboarding(parts)
  await sendAssurance(parts)
  await sendWebhooks(parts)
  await sendRuns(parts)
  await sendCheckout(parts)
  await signIn(parts)
  await sendConnections(parts)
  await invite(parts)
  await platform(parts)
}

/** Where nobody takes payments: the words come no further. */
async function sendCheckout({ client, canaries }: SendParts): Promise<void> {
  const { word } = marks({ canaries }, 'billing.checkout')
  for (const name of ['tenant_id', 'success_url', 'cancel_url']) {
    const body = { [name]: word(`body.${name}`) }
    const { status, text } = await client.ask('POST', '/v1/cloud/billing/checkout', { body })
    assert.ok(status === 404 || text.includes('billing_not_configured'), text)
    assert.deepEqual(canaries.foundIn(text), [], text)
  }
}

/** A word that is no key: it is compared with keys by its hash. */
async function signIn({ client, canaries }: SendParts): Promise<void> {
  const api_key = marks({ canaries }, 'identity.sign_in').word('body.api_key')
  const { status, text } = await client.ask('POST', '/v1/portal/session', { body: { api_key } })
  assert.equal(status, 401, text)
  assert.deepEqual(canaries.foundIn(text), [], text)
}

/** Name and address are sealed, and leave with the person. */
async function invite({ client, canaries }: SendParts): Promise<void> {
  const { tenant_id } = await client.ok('GET', '/v1/portal/me')
  const path = `/v1/cloud/tenants/${tenant_id}/users`
  const create = marks({ canaries }, 'identity.invite')
  const body = {
    email: `${create.word('body.email')}@example.com`,
    name: create.text('body.name'),
    roles: ['viewer'],
  }
  const { user, invitation } = await client.ok('POST', path, { body })
  const stores = [create.word('body.stores[]')]
  const limited = await client.ask('POST', path, {
    body: { email: 'ben@example.com', roles: ['viewer'], stores },
  })
  assert.equal(limited.status, 404, limited.text)
  const update = marks({ canaries }, 'identity.update_user')
  const name = update.text('body.name')
  await client.ok('PUT', `/v1/portal/users/${user.user_id}`, { body: { name } })
  const accept = marks({ canaries }, 'identity.accept').word('body.invitation')
  const wrong = { body: { invitation: `${tenant_id}.${accept}` } }
  assert.equal((await client.ask('POST', '/v1/portal/invitation', wrong)).status, 400)
  await client.ok('POST', '/v1/portal/invitation', { body: { invitation } })
}

async function createStore(parts: SendParts): Promise<void> {
  const { text, word, json, headers } = marks(parts, 'memory.create_store')
  const body = {
    name: text('body.name'),
    backend: word('body.backend'),
    labels: json('body.labels'),
    digest_after_s: 1,
  }
  const sent = { body, headers: headers() }
  parts.made.stores.push((await parts.client.ok('POST', '/v1/stores', sent)).store_id)
}

/** Every text option of a write once: under `options`, and beside the content. */
function optionsOf(parts: SendParts, operation: string, at: string) {
  const { label, json } = marks(parts, operation)
  const each = (where: string) => [
    { metadata: json(`${where}.metadata`) },
    { tenant_id: label(`${where}.tenant_id`) },
    { namespace: label(`${where}.namespace`) },
  ]
  return [...each(`${at}.options`).map((options) => ({ options })), ...each(at)]
}

async function writeMemories(parts: SendParts): Promise<void> {
  const { client, made } = parts
  const path = `/v1/stores/${made.stores[0]}`
  const write = marks(parts, 'memory.write')
  const written = { content: write.text('body.content') }
  made.refs.push(
    (await client.ok('POST', `${path}/write`, { body: written, headers: write.headers() })).ref,
  )
  for (const more of optionsOf(parts, 'memory.write', 'body')) {
    const body = { content: 'Beside an option', ...more }
    made.refs.push((await client.ok('POST', `${path}/write`, { body })).ref)
  }

  const batch = marks(parts, 'memory.write_batch')
  const options = optionsOf(parts, 'memory.write_batch', 'body.items[]')
  const items = [
    { content: batch.text('body.items[].content') },
    ...options.map((more) => ({ content: 'Of a batch', ...more })),
  ]
  const batched = { body: { items }, headers: batch.headers() }
  made.refs.push(...(await client.ok('POST', `${path}/write_batch`, batched)).refs)
  await ingest(parts)
  await talk(parts)
  await supersede(parts)
}

async function ingest(parts: SendParts): Promise<void> {
  const { client, made } = parts
  const { text, label, json, headers } = marks(parts, 'memory.ingest')
  const at = 'body.messages[]'
  const said = { content: text(`${at}.content`), timestamp: '2026-01-01T09:00:00Z' }
  const names = {
    role: label(`${at}.role`),
    speaker: label(`${at}.speaker`),
    message_id: label(`${at}.message_id`),
  }
  const messages = [
    { ...said, ...names },
    { content: 'By a name', name: label(`${at}.name`) },
  ]
  const body = { messages, session_id: label('body.session_id'), metadata: json('body.metadata') }
  const path = `/v1/stores/${made.stores[0]}/ingest`
  made.refs.push(...(await client.ok('POST', path, { body, headers: headers() })).refs)
  const asking = { messages: [{ content: 'Nobody answers' }], mode: 'extract' }
  await refused(parts, path, { body: { ...asking, model_id: label('body.model_id') } })
  for (const name of ['tenant_id', 'namespace'] as const) {
    const more = { messages: [{ content: 'Elsewhere' }], [name]: label(`body.${name}`) }
    made.refs.push(...(await client.ok('POST', path, { body: more })).refs)
  }
}

/** A session whose digest quotes canaries: erasing what it quotes is to erase it too. */
async function talk(parts: SendParts): Promise<void> {
  const { client, made } = parts
  const path = `/v1/stores/${made.stores[0]}`
  const content = marks(parts, 'memory.write_batch').text('body.items[].content')
  const items = Array.from({ length: 8 }, (_, at) => ({
    content: `${content} with ${at + 2} friends and their dogs in the early morning.`,
    metadata: { session_id: 'walk' },
  }))
  made.refs.push(...(await client.ok('POST', `${path}/write_batch`, { body: { items } })).refs)
  const isQuoted = ({ digest, content: text }: Memory) =>
    digest !== undefined && parts.canaries.foundIn(text).length > 0
  for (let waits = 0; waits < 600; waits += 1) {
    const { memories } = await client.ok('GET', `${path}/memories?limit=500`)
    if (memories.some(isQuoted)) return
    await delay(100)
  }
  assert.fail('the session got no digest')
}

async function supersede(parts: SendParts): Promise<void> {
  const { client, made } = parts
  const path = `/v1/stores/${made.stores[0]}/supersede`
  const { text, headers } = marks(parts, 'memory.supersede')
  const body = { old_ref: made.refs[0], content: text('body.content') }
  made.refs.push((await client.ok('POST', path, { body, headers: headers() })).ref)
  for (const more of optionsOf(parts, 'memory.supersede', 'body')) {
    const body = { old_ref: UNKNOWN_REF, content: 'A plain write', ...more }
    made.refs.push((await client.ok('POST', path, { body })).ref)
  }
}

async function importMemories(parts: SendParts): Promise<void> {
  const { client, made } = parts
  const { text, label, word, json, headers } = marks(parts, 'memory.import')
  const path = `/v1/stores/${made.stores[0]}`
  const before = new Set(await refsOf(client, path))
  const lines = [
    { content: text('body.content'), metadata: json('body.metadata') },
    { content: 'Imported into a namespace', tenant_id: label('body.tenant_id') },
    { content: 'Imported into another', namespace: label('body.namespace') },
    {
      content: '{}',
      item: {
        namespace: [word('body.item.namespace[]')],
        key: word('body.item.key'),
        index: [word('body.item.index[]')],
      },
    },
    { content: 'With all that an export has', ...unusedFields(parts, 'memory.import') },
  ]
  await client.raw('POST', `${path}/import`, {
    raw: lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
    type: 'application/x-ndjson',
    headers: headers(),
  })
  made.refs.push(...(await refsOf(client, path)).filter((ref) => !before.has(ref)))
}

const refsOf = async (client: Client, path: string): Promise<number[]> =>
  (await client.all(`${path}/memories`, 'memories')).map(({ ref }) => ref)

async function retrieve(parts: SendParts): Promise<void> {
  const { client, made } = parts
  const { text, word, json } = marks(parts, 'memory.retrieve')
  const path = `/v1/stores/${made.stores[0]}/retrieve`
  const bodies = [
    { query: text('body.query'), options: { metadata: json('body.options.metadata') } },
    { query: 'river', options: { tenant_id: word('body.options.tenant_id') } },
    { query: 'river', options: { namespace: word('body.options.namespace') } },
    { query: 'river', tenant_id: word('body.tenant_id') },
    { query: 'river', namespace: word('body.namespace') },
  ]
  for (const body of bodies) await client.ok('POST', path, { body })
}

async function logDecisions(parts: SendParts): Promise<void> {
  const { client, made } = parts
  const { text, word, label, json, headers } = marks(parts, 'decisions.log')
  const log = async (body: unknown, headers = {}) => {
    const { decision_id } = await client.ok('POST', '/v1/decisions/log', { body, headers })
    made.decisions.push(decision_id)
  }
  const [ref = 0] = made.refs
  const contents = [text('body.retrieved_contents[]'), 'of a ref that is no memory']
  const common = { retrieved_refs: [ref, UNKNOWN_REF], retrieved_contents: contents }
  const first = {
    ...common,
    store_id: made.stores[0],
    model_id: label('body.model_id'),
    query: text('body.query'),
    output: text('body.output'),
    session_id: word('body.session_id'),
    parameters: json('body.parameters'),
    ...unusedFields(parts, 'decisions.log'),
  }
  await log(first, headers())
  const store_id = label('body.store_id')
  const model_id = 'model-a'
  await log({ ...common, store_id, model_id, query: 'q', raw_output: text('body.raw_output') })
  made.labels.push(UNKNOWN_REF)
}

async function erase(parts: SendParts): Promise<void> {
  const { client, made } = parts
  const path = `/v1/stores/${made.stores[0]}`
  const write = async () => {
    const body = { content: 'To be erased at once' }
    return (await client.ok('POST', `${path}/write`, { body })).ref
  }
  const reasons = ({ label }: ReturnType<typeof marks>) => ({
    legal_basis: label('body.legal_basis'),
    requested_by: label('body.requested_by'),
  })
  const remove = marks(parts, 'memory.delete')
  const removed = { body: { ref: await write(), ...reasons(remove) }, headers: remove.headers() }
  await client.ok('POST', `${path}/delete`, removed)

  const issue = marks(parts, 'erasure.issue')
  const body = {
    fact_ref: await write(),
    ...reasons(issue),
    ...unusedFields(parts, 'erasure.issue'),
  }
  await client.ok('POST', '/v1/erasure/issue', { body, headers: issue.headers() })
  const elsewhere = { fact_ref: await write(), store_id: issue.word('body.store_id') }
  await client.ask('POST', '/v1/erasure/issue', { body: elsewhere })
  made.refs.push(elsewhere.fact_ref)

  const redact = marks(parts, 'decisions.redact')
  const decision = { store_id: made.stores[0], model_id: 'model-a', query: 'q', output: 'o' }
  const { decision_id } = await client.ok('POST', '/v1/decisions/log', { body: decision })
  const sent = { body: reasons(redact), headers: redact.headers() }
  await client.ok('POST', `/v1/decisions/${decision_id}/redact`, sent)
}

async function govern({ client, ...rest }: SendParts): Promise<void> {
  const parts = { client, ...rest }
  const create = marks(parts, 'governance.create_policy')
  const patterns = (word: string) => ({ patterns: [word], description: `${word} is not named` })
  const body = {
    name: create.word('body.name'),
    description: create.text('body.description'),
    policy_type: 'content_filter',
    config: patterns(create.word('body.config{}')),
  }
  const made = { body, headers: create.headers() }
  const { policy_id } = await client.ok('POST', '/v1/governance/policies', made)
  const evaluate = marks(parts, 'governance.evaluate')
  const context = { ...evaluate.json('body.context{}'), model_id: evaluate.word('body.context{}') }
  // Not allowed, and therefore on the log too.
  const query = `what of ${body.config.patterns[0]}`
  for (const operation of ['inference', 'memory.retrieve'])
    await client.ok('POST', '/v1/governance/evaluate', {
      body: { operation, context: { ...context, store_id: context.model_id, query } },
      headers: operation === 'inference' ? evaluate.headers() : {},
    })
  const update = marks(parts, 'governance.update_policy')
  const changed = {
    name: update.word('body.name'),
    description: update.text('body.description'),
    config: patterns(update.word('body.config{}')),
  }
  await client.ok('PUT', `/v1/governance/policies/${policy_id}`, { body: changed })
  const seed = marks(parts, 'governance.seed_defaults')
  await client.ok('POST', '/v1/governance/seed-defaults', { body: {}, headers: seed.headers() })
  for (const policy of await client.all('/v1/governance/policies', 'policies'))
    await client.ok('DELETE', `/v1/governance/policies/${policy.policy_id}`)
}

async function platform(parts: SendParts): Promise<Answer | undefined> {
  const { client, operator } = parts
  const roll = marks(parts, 'gcrumbs.roll')
  await client.ok('POST', '/v1/gcrumbs/roll', { body: {}, headers: roll.headers() })
  const verify = marks(parts, 'gcrumbs.verify_envelope')
  const envelope = { type: 'record', kind: 'erasure', record: verify.json('body') }
  await client.ok('POST', '/v1/gcrumbs/verify', { body: envelope })
  await operateTenant(operator, parts)
  const token = marks(parts, 'keys.create_token')
  const [store_id] = parts.made.stores
  const limits = { store_id, namespace: token.word('body.namespace'), scopes: ['memory:read'] }
  await client.ok('POST', '/v1/keys/tokens', { body: limits, headers: token.headers() })
  const ofNoStore = { ...limits, store_id: token.word('body.store_id') }
  await refused(parts, '/v1/keys/tokens', { body: ofNoStore })
  const { label, word, headers } = marks(parts, 'keys.create')
  const ofNoStores = { allowed_stores: [word('body.allowed_stores[]')] }
  await refused(parts, '/v1/keys', { body: ofNoStores })
  const body = {
    name: label('body.name'),
    allowed_stores: [store_id],
    namespace: word('body.namespace'),
  }
  return client.ok('POST', '/v1/keys', { body, headers: headers() })
}

// A tenant of its own: rotating the key of the one at work would lock the rest out.
async function operateTenant(operator: Client, parts: SendParts): Promise<void> {
  const { label, headers } = marks(parts, 'tenants.create')
  const sent = { body: { name: label('body.name') }, headers: headers() }
  const { tenant_id } = await operator.ok('POST', '/v1/cloud/tenants', sent)
  const update = marks(parts, 'tenants.update')
  const named = { body: { name: update.label('body.name') } }
  await operator.ok('PUT', `/v1/cloud/tenants/${tenant_id}`, named)
  const rotate = marks(parts, 'tenants.rotate_key')
  const path = `/v1/cloud/tenants/${tenant_id}/rotate-key`
  await operator.ok('POST', path, { body: {}, headers: rotate.headers() })
}
