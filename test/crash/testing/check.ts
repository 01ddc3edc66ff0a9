// Holds a restarted service to what it had promised before it was killed.

import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { verifyBreadcrumbs, verifyEnvelope } from '@custos/proof'
import type { Answer, Client } from './client.ts'
import { type Promises, type Retry, TOKEN } from './promises.ts'

const MARKER = /^\[REDACTED/
const WAITS_MAX = 600

/** What the service shows after the restart, read once. */
interface Shown {
  readonly client: Client
  readonly promises: Promises
  readonly keys: Answer['body'][]
  readonly memories: ReadonlyMap<number, Answer['body']>
  readonly decisions: ReadonlyMap<string, Answer['body']>
  readonly certificates: readonly Answer['body'][]
  readonly texts: string
}

export async function checkPromises(client: Client, promises: Promises): Promise<void> {
  await retryInterrupted(client, promises)
  await settleStores(client, promises)
  const shown = await readAll(client, promises)
  settleErasures(shown)
  checkFacts(shown)
  checkDecisions(shown)
  checkNothingErased(shown)
  await checkCertificates(shown)
  await checkLog(shown)
  await checkEpochs(shown)
}

/** The same key and body again: answered, and there once, whether the first one got through. */
async function retryInterrupted(client: Client, promises: Promises): Promise<void> {
  for (const retry of promises.retries.splice(0)) {
    const headers = { 'idempotency-key': retry.key }
    const { status, text, body } = await client.ask('POST', retry.path, {
      body: retry.body,
      headers,
    })
    assert.equal(status, 200, `${retry.path} again: ${text}`)
    noteRetried(promises, retry, body)
  }
}

function noteRetried(promises: Promises, { path, contents, body }: Retry, answer: Answer['body']) {
  const store_id = path.split('/')[3] ?? ''
  const refs: number[] = answer.refs ?? (answer.ref === undefined ? [] : [answer.ref])
  contents.forEach((content, i) => {
    const ref = refs[i]
    assert.ok(ref !== undefined, path)
    promises.facts.set(ref, { ref, store_id, content })
  })
  if (path.endsWith('/supersede')) promises.superseded.set(answer.old_ref, answer.ref)
  if (path.endsWith('/log')) {
    // The body is a log request of the load.
    const { retrieved_refs, output } = body as { retrieved_refs: number[]; output: string }
    const { decision_id } = answer
    promises.decisions.set(decision_id, { decision_id, refs: retrieved_refs, output })
  }
}

/** Deletions go on after the restart; one without an answer has begun or not. */
async function settleStores(client: Client, promises: Promises): Promise<void> {
  for (const store_id of promises.doubtfulStores) {
    const { status, body } = await client.ask('GET', `/v1/stores/${store_id}`)
    if (status === 404 || body.state !== 'active') promises.deletedStores.add(store_id)
  }
  promises.doubtfulStores.clear()
  for (const store_id of promises.deletedStores) await untilGone(client, store_id)
}

async function untilGone(client: Client, store_id: string): Promise<void> {
  for (let waits = 0; waits < WAITS_MAX; waits += 1) {
    const { status } = await client.ask('GET', `/v1/stores/${store_id}`)
    if (status === 404) return
    await delay(20)
  }
  assert.fail(`the deletion of ${store_id} did not go on`)
}

async function readAll(client: Client, promises: Promises): Promise<Shown> {
  const memories = new Map<number, Answer['body']>()
  const texts: string[] = []
  for (const { store_id } of await client.all('/v1/stores', 'stores')) {
    for (const line of await client.lines(`/v1/stores/${store_id}/export`)) {
      if (line.custos_export !== undefined) continue
      texts.push(JSON.stringify(line))
      const { ref } = line
      assert.ok(!memories.has(ref), `ref ${ref} is in two stores`)
      memories.set(ref, { ...line, store_id })
    }
  }
  const decisions = new Map<string, Answer['body']>()
  for (const line of await client.lines('/v1/decisions/export')) {
    texts.push(JSON.stringify(line))
    decisions.set(line.decision_id, line)
  }
  const certificates = await client.all('/v1/erasure', 'certificates')
  const { keys } = await client.ok('GET', '/v1/gcrumbs/public_key')
  texts.push(JSON.stringify(certificates))
  return { client, promises, keys, memories, decisions, certificates, texts: texts.join('\n') }
}

/** Without an answer an erasure is undone or complete, and nothing between. */
function settleErasures({ promises, memories, certificates, decisions }: Shown): void {
  const ofFacts = new Map(certificates.map((one) => [one.fact_ref, one.certificate_id]))
  const ofDecisions = new Map(certificates.map((one) => [one.decision_id, one.certificate_id]))
  for (const ref of promises.doubtfulErasures) {
    const certificate = ofFacts.get(ref)
    assert.notEqual(memories.has(ref), certificate !== undefined, `ref ${ref} is halfway erased`)
    if (certificate !== undefined) promises.erased.set(ref, certificate)
  }
  for (const decision_id of promises.doubtfulRedactions) {
    const certificate = ofDecisions.get(decision_id)
    const redacted = MARKER.test(decisions.get(decision_id)?.output)
    assert.equal(redacted, certificate !== undefined, `${decision_id} is halfway redacted`)
    if (certificate !== undefined) promises.redacted.set(decision_id, certificate)
  }
  for (const { ref, store_id } of promises.facts.values())
    if (promises.deletedStores.has(store_id) && !promises.erased.has(ref)) {
      const certificate = ofFacts.get(ref)
      assert.ok(certificate !== undefined, `ref ${ref} of a deleted store has no certificate`)
      promises.erased.set(ref, certificate)
    }
  promises.doubtfulErasures.clear()
  promises.doubtfulRedactions.clear()
}

function checkFacts({ promises, memories }: Shown): void {
  const seen = new Set<string>()
  for (const { content } of memories.values()) {
    assert.ok(!seen.has(content), `stored twice: ${content}`)
    seen.add(content)
  }
  for (const { ref, content } of promises.facts.values()) {
    const memory = memories.get(ref)
    if (promises.erased.has(ref)) assert.equal(memory, undefined, `ref ${ref} is back`)
    else assert.equal(memory?.content, content, `ref ${ref} was acknowledged and is lost`)
  }
  for (const [old_ref, ref] of promises.superseded) {
    const old = memories.get(old_ref)
    if (!old || promises.erased.has(ref)) continue
    assert.equal(old.superseded_by, ref, `ref ${old_ref} lost its successor`)
    assert.equal(old.valid_until, memories.get(ref)?.valid_from)
  }
}

function checkDecisions({ promises, decisions }: Shown): void {
  for (const { decision_id, refs, output } of promises.decisions.values()) {
    const shown = decisions.get(decision_id)
    assert.ok(shown, `decision ${decision_id} was acknowledged and is lost`)
    if (promises.redacted.has(decision_id)) assert.match(shown.output, MARKER)
    else assert.equal(shown.output, output)
    assert.deepEqual(shown.retrieved_refs, refs)
    refs.forEach((ref, i) => {
      if (promises.erased.has(ref)) assert.match(shown.retrieved_contents[i], MARKER)
      else assert.equal(shown.retrieved_contents[i], promises.facts.get(ref)?.content)
    })
  }
}

const tokensOf = (text: string): readonly string[] => text.match(TOKEN) ?? []

function checkNothingErased({ promises, texts }: Shown): void {
  const shown = new Set(tokensOf(texts))
  for (const ref of promises.erased.keys())
    for (const token of tokensOf(promises.facts.get(ref)?.content ?? ''))
      assert.ok(!shown.has(token), `content of the erased ref ${ref} is still shown`)
  for (const decision_id of promises.redacted.keys())
    for (const token of tokensOf(promises.decisions.get(decision_id)?.output ?? ''))
      assert.ok(!shown.has(token), `text of the redacted decision ${decision_id} is still shown`)
}

async function checkCertificates({ promises, certificates, keys }: Shown): Promise<void> {
  const known = new Set(certificates.map(({ certificate_id }) => certificate_id))
  for (const id of [...promises.erased.values(), ...promises.redacted.values()])
    assert.ok(known.has(id), `certificate ${id} was answered and is lost`)
  const subjects = certificates.map(({ fact_ref, decision_id }) => decision_id ?? fact_ref)
  assert.equal(new Set(subjects).size, subjects.length, 'one subject has two certificates')
  for (const certificate of certificates) {
    const verdict = await verifyEnvelope({ type: 'certificate', certificate }, { keys })
    assert.ok(verdict.valid, verdict.reason)
  }
}

async function checkLog({ client, promises }: Shown): Promise<void> {
  const crumbs = await client.all('/v1/gcrumbs/breadcrumbs', 'breadcrumbs')
  assert.deepEqual(verifyBreadcrumbs(crumbs), { ok: true, count: crumbs.length })
  assert.equal(crumbs[0]?.seq, 0)
  for (const [seq, breadcrumb_id] of promises.crumbs)
    assert.equal(crumbs[seq]?.breadcrumb_id, breadcrumb_id, `log entry ${seq} has changed`)
  for (const { seq, breadcrumb_id } of crumbs) promises.crumbs.set(seq, breadcrumb_id)
  for (const { seq, event_type, subject, payload } of promises.claims.values()) {
    const crumb = crumbs[seq]
    assert.equal(crumb?.event_type, event_type, `log entry ${seq}`)
    if (subject !== undefined) assert.equal(crumb.subject, subject)
    for (const [name, value] of Object.entries(payload)) assert.equal(crumb.payload[name], value)
  }
  const verdict = await client.ok('GET', '/v1/gcrumbs/verify?full=true')
  assert.equal(verdict.status, 'intact', JSON.stringify(verdict))
}

async function checkEpochs({ client, promises, keys }: Shown): Promise<void> {
  await client.ok('POST', '/v1/gcrumbs/roll', { body: {} })
  const epochs = await client.all('/v1/gcrumbs/epochs', 'epochs')
  const places = new Set(epochs.map(({ origin, tree_size }) => `${origin} ${tree_size}`))
  assert.equal(places.size, epochs.length, 'an origin and size has two epochs')
  for (const epoch of epochs) promises.checkpoint(epoch)
  for (const place of promises.roots.keys()) assert.ok(places.has(place), `${place} is lost`)
  for (const [i, to] of epochs.entries()) {
    assert.equal(to.epoch_number, i + 1)
    const from = epochs[i - 1]
    if (!from || from.generation !== to.generation) continue
    const { path } = to.consistency
    const verdict = await verifyEnvelope({ type: 'consistency', from, to, path }, { keys })
    assert.ok(verdict.valid, `epoch ${to.epoch_number}: ${verdict.reason}`)
  }
}
