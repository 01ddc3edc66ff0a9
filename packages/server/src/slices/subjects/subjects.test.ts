// Requests of data subjects over HTTP: preview, erasure, manifest.

import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { limits } from '@custos/contract'
import { startTestService, type TestService } from '../../testing/harness.ts'
import { rawSql } from '../../testing/raw-sql.ts'
import { itemLimit } from './search.ts'
import { SUBJECT, subjectScene } from './testing/scene.ts'

let service: TestService
before(async () => {
  service = await startTestService()
})
after(() => service.stop())

const scene = () => subjectScene(service)
const MARKER = /^\[REDACTED/
const dropStores = ({ store_ids: _, ...more }: { readonly [key: string]: unknown }) => more

describe("a preview of 'subjects.erase'", () => {
  test('counts memories with all versions, and decisions that used or name them', async () => {
    const { write, supersede, decide, preview } = await scene()
    const first = await write('Jana Novak lives in Brno')
    const second = await supersede(first, 'She has moved to Plzen')
    await write('The office opens at nine')
    await decide('where to?', 'Plzen', { retrieved_refs: [second] })
    await decide('Who is JANA NOVAK?', 'A customer')
    await decide('What is for lunch?', 'Soup')
    const shown = await preview({ text: 'jana novák'.normalize('NFC').replace('á', 'a') })
    assert.deepEqual(shown.found, {
      facts: 2,
      superseded_facts: 1,
      decisions_using: 1,
      decisions_naming: 1,
      texts: 0,
      held: 0,
      stores: [{ store_id: shown.found.stores[0].store_id, facts: 2, held: 0 }],
      kinds: [],
    })
    assert.deepEqual(shown.sample_refs, [first, second])
    assert.equal(shown.scanned.facts, 3)
    assert.equal(shown.scanned.decisions, 3)
  })

  test('changes nothing and keeps nothing: no request, no log entry, no row', async () => {
    const { write, preview, ok, events, tenant_id } = await scene()
    const ref = await write('Jana Novak lives in Brno')
    const before = await ok('GET', '/v1/gcrumbs/stats')
    await preview({ text: 'Jana Novak' })
    assert.deepEqual(await ok('GET', '/v1/gcrumbs/stats'), before)
    assert.equal((await ok('GET', SUBJECT)).count, 0)
    assert.deepEqual(await events('subject.requested'), [])
    const rows = await rawSql(service, 'select * from subject_requests where tenant_id = ?', [
      tenant_id,
    ])
    assert.deepEqual([rows.length, typeof ref], [0, 'number'])
  })

  test('compares metadata by value and type, all entries together', async () => {
    const { write, preview } = await scene()
    const both = await write('one', { customer: 'c-17', tier: 2 })
    await write('two', { customer: 'c-17', tier: '2' })
    await write('three', { customer: 'C-17', tier: 2 })
    const found = await preview({ metadata: { customer: 'c-17', tier: 2 } })
    assert.deepEqual(found.sample_refs, [both])
    assert.equal((await preview({ metadata: { customer: 'c-17' } })).found.facts, 2)
    assert.equal((await preview({ metadata: { customer: 'c-17' }, text: 'two' })).found.facts, 1)
  })

  test('finds a text in the metadata too, however deep it lies, and its numbers', async () => {
    const { write, preview } = await scene()
    const named = await write('likes tea', { about: { people: ['Jana Novak'] }, phone: 5551234 })
    await write('likes coffee', { about: { people: ['Petr Novak'] } })
    for (const text of ['jana novak', '5551234'])
      assert.deepEqual((await preview({ text })).sample_refs, [named], text)
  })

  test('tells case apart where it is asked to, and never normal forms', async () => {
    const { write, preview } = await scene()
    await write('Zoe\u0308 Quill keeps bees')
    assert.equal((await preview({ text: 'zo\u00eb quill' })).found.facts, 1)
    assert.equal((await preview({ text: 'zo\u00eb quill', match: 'exact_case' })).found.facts, 0)
    assert.equal((await preview({ text: 'Zo\u00eb Quill', match: 'exact_case' })).found.facts, 1)
  })

  test('searches decisions for values of metadata as whole words, not for short ones', async () => {
    const { decide, preview } = await scene()
    await decide('orders of cust-17?', 'three')
    await decide('orders of cust-170?', 'none')
    await decide('bundle', 'ok', { parameters: { for: 'CUST-17' } })
    const named = await preview({ metadata: { customer: 'cust-17' } })
    assert.equal(named.found.decisions_naming, 2)
    const short = await preview({ metadata: { tier: 17 } })
    assert.equal(short.found.decisions_naming, 0)
    assert.match(short.not_searched[0], /decisions: no entry of find is a word/)
    assert.match(short.not_searched[1], /other records: no entry of find is a word/)
  })

  test('stays within the stores and the namespace it is given', async () => {
    const { write, preview, ok, store_id } = await scene()
    const other = (await ok('POST', '/v1/stores', { name: 'other' })).store_id
    await write('Jana Novak here')
    await write('Jana Novak there', {}, other)
    const body = { content: 'Jana Novak inside', namespace: 'unit' }
    await ok('POST', `/v1/stores/${store_id}/write`, body)
    const find = { text: 'Jana Novak' }
    assert.equal((await preview(find)).found.facts, 3)
    assert.equal((await preview(find, { store_ids: [other] })).found.facts, 1)
    assert.equal((await preview(find, { namespace: 'unit' })).found.facts, 1)
  })

  test('says its scope and what was not searched, also in the signed manifest', async () => {
    const { write, decide, preview, erase, manifestOf, access, ok, store_id } = await scene()
    await write('Jana Novak lives in Brno')
    await decide('Who is Jana Novak?', 'A customer')
    const body = { content: 'Jana Novak inside', namespace: 'unit' }
    await ok('POST', `/v1/stores/${store_id}/write`, body)
    const find = { text: 'Jana Novak' }
    const cases = [
      [{}, []],
      [{ namespace: 'unit' }, ['other namespaces', 'they are of no namespace']],
      [{ store_ids: [store_id] }, ['stores beside those named']],
      [{ include_decisions: false }, ['they were left out by the request']],
    ] as const
    const every = cases.flatMap(([, reasons]) => reasons)
    for (const [more, reasons] of cases) {
      const [header] = await access(find, more)
      const shown = await preview(find, more)
      for (const { namespace, include_decisions } of [header, shown])
        assert.deepEqual(
          { namespace, include_decisions },
          { namespace: null, include_decisions: true, ...dropStores(more) },
        )
      const { request_id } = await erase({ text: 'Nobody Here' }, more)
      for (const { not_searched } of [header, shown, await manifestOf(request_id)]) {
        const said = every.filter((reason) => not_searched.some((s: string) => s.includes(reason)))
        assert.deepEqual(said, reasons)
        assert.ok(!not_searched.some((text: string) => text.includes('unit')))
      }
    }
  })

  test('says of every kind of record that it was searched, or why it was not', async () => {
    const { preview } = await scene()
    const { searched, not_searched } = await preview({ text: 'Jana Novak' })
    for (const place of ['registries', 'approval', 'governed', 'policies', 'holds', 'retention'])
      assert.ok(
        searched.some((text: string) => text.includes(place)),
        place,
      )
    assert.equal(not_searched.length, 3)
    assert.match(not_searched[0], /names of tenants/)
    const left = await preview({ text: 'Jana Novak' }, { include_records: false })
    assert.match(left.not_searched[0], /other records: they were left out/)
    assert.equal(left.searched.length, 2)
  })

  test('takes alternatives, of which one must match, as one search', async () => {
    const { write, decide, preview } = await scene()
    const first = await write('Jana Novak lives in Brno')
    const second = await write('likes tea', { customer: 'c-17' })
    await write('Jana Dvorak lives in Brno')
    await decide('Who is c-17?', 'A customer')
    const groups = [{ text: 'Jana Novak' }, { metadata: { customer: 'c-17' } }]
    const shown = await preview(groups)
    assert.deepEqual(shown.sample_refs, [first, second])
    assert.equal(shown.found.decisions_naming, 1)
    assert.equal((await preview(groups.toReversed())).digest, shown.digest)
    assert.equal((await preview({ ...groups[0], ...groups[1] })).found.facts, 0)
  })

  test('finds a name of two or three letters as a whole word, and in no other word', async () => {
    const { write, decide, preview } = await scene()
    const named = await write('Ana likes Bo')
    await write('A banana a day; boats')
    await decide('Who is Ana?', 'A customer')
    await decide('Who eats a banana?', 'Nobody')
    for (const find of [{ text: 'ana' }, { text: 'Bo' }]) {
      const shown = await preview(find)
      assert.deepEqual(shown.sample_refs, [named], find.text)
    }
    assert.equal((await preview({ text: 'ana' })).found.decisions_naming, 1)
    const byMetadata = await preview({ metadata: { name: 'Ana' } })
    assert.equal(byMetadata.found.decisions_naming, 1)
  })

  test('finds a short name in a text that puts no spaces between words', async () => {
    const { decide, preview } = await scene()
    await decide('王伟的订单在哪里', '在路上')
    assert.equal((await preview({ text: '王伟' })).found.decisions_naming, 1)
  })

  test('offers the sessions of what was found, to be searched for in their turn', async () => {
    const { write, decide, preview, erase, ok } = await scene()
    const used = await write('Jana Novak lives in Brno')
    await decide('where to?', 'Brno', { retrieved_refs: [used], session_id: 'talk-1' })
    await decide('Who is Jana Novak?', 'A customer', { session_id: 'talk-2' })
    const other = await decide('And her dog?', 'Rex', { session_id: 'talk-2' })
    await write('has a dog', { session_id: 'talk-2' })
    await decide('What is for lunch?', 'Soup', { session_id: 'talk-3' })
    const { session_ids } = await preview({ text: 'Jana Novak' })
    assert.deepEqual(session_ids, ['talk-1', 'talk-2'])
    const groups = session_ids.map((session_id: string) => ({ session_id }))
    const { found } = await preview([{ text: 'Jana Novak' }, ...groups])
    assert.deepEqual([found.facts, found.decisions_naming], [2, 3])
    await erase(groups)
    assert.match((await ok('GET', `/v1/decisions/${other}`)).query, MARKER)
  })

  test('needs nothing but a namespace to forget all that is in it', async () => {
    const { preview, erase, ok, ask, store_id, write, manifestOf, verify } = await scene()
    await write('The office opens at nine')
    for (const content of ['one', 'two'])
      await ok('POST', `/v1/stores/${store_id}/write`, { content, namespace: 'jana' })
    assert.equal((await preview(undefined, { namespace: 'jana' })).found.facts, 2)
    const done = await erase(undefined, { namespace: 'jana' })
    assert.deepEqual([done.status, done.found.facts], ['done', 2])
    assert.equal((await preview(undefined, { namespace: 'jana' })).found.facts, 0)
    const verdict = await verify(await manifestOf(done.request_id))
    assert.ok(verdict.valid, verdict.reason)
    const { status, body } = await ask('POST', SUBJECT, { preview: true })
    assert.deepEqual([status, body.error], [422, 'rejected'])
  })

  test('takes as many memories and decisions as one request may have, and no more', async () => {
    const { write, decide, preview, ask } = await scene()
    const limit = itemLimit(service.kernel)
    const { items_max } = limit
    limit.items_max = 3
    try {
      const find = { text: 'Jana Novak' }
      for (const n of [1, 2]) await write(`Jana Novak, note ${n}`)
      await decide('Who is Jana Novak?', 'A customer')
      assert.equal((await preview(find)).found.facts, 2)
      await write('Jana Novak, one more')
      const erasure = { find, expect_digest: '0'.repeat(64) }
      for (const [path, sent] of [
        [SUBJECT, erasure],
        [`${SUBJECT}/access`, { find }],
      ] as const) {
        const { status, body } = await ask('POST', path, sent)
        assert.deepEqual([status, body.error], [422, 'rejected'])
        assert.match(body.detail, /more than 3 .* store_ids/)
      }
    } finally {
      limit.items_max = items_max
    }
  })

  test('takes a text, entries and stores up to their limits, and no more', async () => {
    const { ask } = await scene()
    const statusOf = async (body: object) =>
      (await ask('POST', SUBJECT, { preview: true, ...body })).status
    const text = (chars: number) => ({ find: { text: 'x'.repeat(chars) } })
    const metadata = (keys: number) => ({
      find: { metadata: Object.fromEntries(Array.from({ length: keys }, (_, i) => [`k${i}`, 1])) },
    })
    const value = (chars: number) => ({ find: { metadata: { k: 'x'.repeat(chars) } } })
    const groups = (count: number) => ({
      find: Array.from({ length: count }, () => ({ text: 'xx' })),
    })
    // None of the stores exists; too many of them are refused before that is checked.
    const stores = (count: number) => ({
      find: { text: 'Jana' },
      store_ids: Array.from({ length: count }, (_, i) => `store-${i}`),
    })
    const { subject_text_chars, subject_metadata_keys, subject_stores } = limits
    const { subject_find_groups } = limits
    const cases = [
      [text, 1, 2, subject_text_chars, 200],
      [value, -1, 0, subject_text_chars, 200],
      [metadata, 0, 1, subject_metadata_keys, 200],
      [stores, 0, 1, subject_stores, 404],
      [groups, 0, 1, subject_find_groups, 200],
    ] as const
    for (const [make, below, min, max, status] of cases) {
      if (below >= 0) assert.equal(await statusOf(make(below)), 422)
      for (const inside of [min, max - 1, max]) assert.equal(await statusOf(make(inside)), status)
      assert.equal(await statusOf(make(max + 1)), 422)
    }
  })

  test('refuses what could not be a search', async () => {
    const { ask } = await scene()
    const refused = async (body: object) => {
      const { status, body: problem } = await ask('POST', SUBJECT, { preview: true, ...body })
      return [status, problem.error]
    }
    assert.deepEqual(await refused({ find: {} }), [422, 'rejected'])
    assert.deepEqual(await refused({ find: { metadata: {} } }), [422, 'rejected'])
    assert.deepEqual(await refused({ find: { text: ' a ' } }), [422, 'rejected'])
    assert.deepEqual(await refused({ find: { metadata: { a: [1] } } }), [422, 'validation'])
    const received_at = '2200-01-01T00:00:00Z'
    assert.deepEqual(await refused({ find: { text: 'Jana' }, received_at }), [422, 'rejected'])
    const store_ids = ['ffffffffffff']
    assert.deepEqual(await refused({ find: { text: 'Jana' }, store_ids }), [404, 'store_not_found'])
  })
})

describe("an erasure by 'subjects.erase'", () => {
  test('leaves nothing to be read, with a certificate for each and one manifest', async () => {
    const { ok, ask, write, supersede, decide, erase, manifestOf, ...rest } = await scene()
    const first = await write('Jana Novak lives in Brno')
    const second = await supersede(first, 'She has moved to Plzen')
    const kept = await write('The office opens at nine')
    const used = await decide('where to?', 'She has moved to Plzen', { retrieved_refs: [second] })
    const naming = await decide('Who is Jana Novak?', 'A customer')
    const done = await erase({ text: 'Jana Novak' }, { legal_basis: 'on request' })
    assert.equal(done.status, 'done')
    assert.deepEqual(done.progress, { done: 3, total: 3 })
    for (const ref of [first, second]) {
      const { status } = await ask('GET', `/v1/stores/${rest.store_id}/memories/${ref}`)
      assert.equal(status, 404)
      assert.equal((await ok('GET', `/v1/erasure/fact/${ref}`)).legal_basis, 'on request')
    }
    assert.ok(await ok('GET', `/v1/stores/${rest.store_id}/memories/${kept}`))
    assert.match((await ok('GET', `/v1/decisions/${naming}`)).query, MARKER)
    assert.match((await ok('GET', `/v1/decisions/${used}`)).output, MARKER)
    assert.equal((await ok('GET', `/v1/decisions/${used}`)).query, 'where to?')

    const manifest = await manifestOf(done.request_id)
    assert.deepEqual(
      manifest.entries.map((entry: { fact_ref?: number; decision_id?: string }) =>
        entry.fact_ref === undefined ? entry.decision_id : entry.fact_ref,
      ),
      [first, second, naming],
    )
    assert.ok(!JSON.stringify(manifest).includes('Jana'))
    const alone = await rest.verify(manifest)
    assert.ok(alone.valid, alone.reason)
    assert.match(alone.not_checked[0] ?? '', /certificates .* were not given/)
    const bundle = await rest.bundleOf(done.request_id)
    const whole = await rest.verify(bundle)
    assert.ok(whole.valid, whole.reason)
    assert.equal(bundle.length, 4)
  })

  test('that finds nothing is on record, with a manifest that says so', async () => {
    const { erase, bundleOf, verify, events } = await scene()
    const done = await erase({ text: 'Nobody Here' })
    const bundle = await bundleOf(done.request_id)
    assert.equal(bundle.length, 1)
    const verdict = await verify(bundle[0])
    assert.ok(verdict.valid, verdict.reason)
    assert.ok(verdict.checks.some(({ name, ok }) => name === 'certificates_root' && ok))
    assert.equal((await events('subject.requested')).length, 1)
    assert.equal((await events('subject.erased')).length, 1)
  })

  test('is told again to a retry, also when its store is gone by then', async () => {
    const { ok, settled, write, confirmed, api_key: key } = await scene()
    const { store_id } = await ok('POST', '/v1/stores', { name: 'gone soon' })
    await write('Jana Novak lives in Brno', {}, store_id)
    const body = await confirmed({ text: 'Jana Novak' }, { store_ids: [store_id] })
    const sent = { key, body, headers: { 'idempotency-key': 'once-only' } }
    const first = await service.request('POST', SUBJECT, sent)
    assert.equal(first.status, 202, first.text)
    await settled(first.body.request_id)
    await ok('DELETE', `/v1/stores/${store_id}`)
    await service.kernel.jobs.idle()
    const again = await service.request('POST', SUBJECT, sent)
    assert.deepEqual([again.status, again.body], [202, first.body])
    const other = { ...sent, body: { ...body, include_decisions: false } }
    const { status, body: problem } = await service.request('POST', SUBJECT, other)
    assert.deepEqual([status, problem.error], [409, 'idempotency_key_reused'])
  })

  test('is refused, changing nothing, when others are found than in the preview', async () => {
    const { write, preview, ask, ok, erase } = await scene()
    await write('Jana Novak lives in Brno')
    const find = { text: 'Jana Novak' }
    const { digest } = await preview(find)
    await write('Jana Novak likes tea')
    const body = { find, expect_digest: digest }
    const { status, body: problem } = await ask('POST', SUBJECT, body)
    assert.deepEqual([status, problem.error], [409, 'subject_changed'])
    assert.equal((await ok('GET', SUBJECT)).count, 0)
    const again = await preview(find)
    assert.ok(!JSON.stringify(problem).includes(again.digest), 'only a preview shows it')
    assert.equal((await erase(find, { expect_digest: again.digest })).found.facts, 2)
  })

  test('needs a preview of this search of this tenant, also when nothing is found', async () => {
    const [one, other] = [await scene(), await scene()]
    const find = { text: 'Jana Novak' }
    const { store_id } = one
    const searches = [
      { find },
      { find: { text: 'Pavel Dvorak' } },
      { find, store_ids: [store_id] },
      { find, namespace: 'x' },
      { find, include_decisions: false },
      { find, include_records: false },
    ]
    const digests = await Promise.all(
      searches.map(
        async (body) => (await one.ok('POST', SUBJECT, { ...body, preview: true })).digest,
      ),
    )
    const foreign = (await other.preview(find)).digest
    assert.equal(new Set([...digests, foreign, hash('sha256', '')]).size, searches.length + 2)
    for (const expect_digest of [...digests.slice(1), foreign, hash('sha256', '')]) {
      const { body } = await one.ask('POST', SUBJECT, { find, expect_digest })
      assert.equal(body.error, 'subject_changed')
    }
    const request = await one.erase(find, { expect_digest: digests[0] })
    assert.equal(request.digest, hash('sha256', ''), 'of the request: of the ids found')
  })

  test('needs the digest of a preview, and says so', async () => {
    const { write, ask, ok } = await scene()
    await write('Jana Novak lives in Brno')
    const { status, body } = await ask('POST', SUBJECT, { find: { text: 'Jana Novak' } })
    assert.equal(status, 422)
    assert.deepEqual(body.detail[0].loc, ['body', 'expect_digest'])
    assert.equal((await ok('GET', SUBJECT)).count, 0)
  })

  test('keeps its words sealed while it is open, and nowhere once it is done', async () => {
    const { write, erase, tenant_id, ok } = await scene()
    await write('Jana Novak lives in Brno')
    const done = await erase({ text: 'Jana Novak' })
    assert.deepEqual([done.find, done.extension_reason], [null, null])
    const [row] = await rawSql(
      service,
      'select secret_no, sealed from subject_requests where tenant_id = ?',
      [tenant_id],
    )
    assert.equal(row?.['sealed'], null)
    const number = Number(row?.['secret_no'])
    await waitFor(async () => {
      const secrets = await service.kernel.keyring.secrets(tenant_id, 'decision', [number])
      return (secrets.get(number) ?? null) === null
    })
    const again = await erase({ text: 'JANA novak' })
    assert.equal(again.find_label, done.find_label)
    assert.equal((await ok('GET', SUBJECT)).count, 2)
  })

  test('asked for twice under one key is one request', async () => {
    const { write, api_key, settled, ok, confirmed } = await scene()
    await write('Jana Novak lives in Brno')
    const body = await confirmed({ text: 'Jana Novak' })
    const send = () =>
      service.request('POST', SUBJECT, {
        body,
        key: api_key,
        headers: { 'idempotency-key': 'once' },
      })
    const first = await send()
    assert.equal(first.status, 202, first.text)
    await settled(first.body.request_id)
    const again = await send()
    assert.equal(again.body.request_id, first.body.request_id)
    assert.equal((await ok('GET', SUBJECT)).count, 1)
  })

  test('leaves what is on legal hold, and says so', async () => {
    const { ok, write, decide, preview, erase, manifestOf, store_id } = await scene()
    const other = (await ok('POST', '/v1/stores', { name: 'held' })).store_id
    const free = await write('Jana Novak lives in Brno')
    const held = await write('Jana Novak is sued', {}, other)
    const naming = await decide('Is Jana Novak sued?', 'yes', { store_id: other })
    await ok('POST', `/v1/stores/${other}/holds`, { reason: 'a trial' })
    assert.equal((await preview({ text: 'Jana Novak' })).found.held, 2)
    const done = await erase({ text: 'Jana Novak' })
    assert.equal(done.status, 'done_with_holds')
    assert.deepEqual(done.progress, { done: 1, total: 3 }, 'what is blocked is not done')
    const { entries } = await manifestOf(done.request_id)
    const outcomes = entries.map((entry: { outcome: string }) => entry.outcome)
    assert.deepEqual(outcomes, ['erased', 'held', 'held'])
    assert.ok(await ok('GET', `/v1/stores/${other}/memories/${held}`))
    assert.equal((await ok('GET', `/v1/decisions/${naming}`)).query, 'Is Jana Novak sued?')
    assert.ok(free < held && store_id !== other)
  })

  test('asks the policies of the tenant first', async () => {
    const { ok, write, ask, preview, confirmed } = await scene()
    await write('Jana Novak lives in Brno')
    await ok('POST', '/v1/governance/policies', {
      name: 'keep',
      policy_type: 'hitl_required',
      action: 'deny',
      config: { operations: ['memory.delete'] },
    })
    const { status, body } = await ask('POST', SUBJECT, await confirmed({ text: 'Jana Novak' }))
    assert.deepEqual([status, body.error], [403, 'policy_denied'])
    assert.equal((await preview({ text: 'Jana Novak' })).found.facts, 1)
  })
})

async function waitFor(isSo: () => Promise<boolean>): Promise<void> {
  for (let waits = 0; waits < 200; waits += 1) {
    if (await isSo()) return
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  assert.fail('waited in vain')
}
