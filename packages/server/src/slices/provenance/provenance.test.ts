// Corpora over HTTP: what is sealed, and what can be proved of it offline.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CORPUS_SOURCES_MAX, LISTED_DOCUMENT_BYTES_MAX } from '@custos/contract'
import { type JsonObject, verifyCorpusProof } from '@custos/proof'
import { ATTESTATIONS, CORPUS, HEX, openCorpusScene, SOURCES } from './testing/corpus-scene.ts'

const scene = openCorpusScene()
const { ask, register, sealed, read, offline } = scene

const UNKNOWN = '0'.repeat(32)

const proofOf = (corpus_id: string, source_id: string) =>
  read(`/corpora/${corpus_id}/proof?source_id=${encodeURIComponent(source_id)}`)

test("'provenance.register' seals a corpus, which 'provenance.get' reads unchanged", async () => {
  const row = await sealed()
  assert.match(row.corpus_id, /^[0-9a-f]{32}$/)
  assert.match(row.merkle_root, /^[0-9a-f]{64}$/)
  assert.match(row.corpus_hash, /^[0-9a-f]{64}$/)
  const { name, status, clearance, source_count, tenant_id } = row
  assert.deepEqual(
    { name, status, clearance, source_count, tenant_id },
    {
      name: 'support mails',
      status: 'sealed',
      clearance: 'cleared',
      source_count: 3,
      tenant_id: scene.tenant_id,
    },
  )
  const { document } = row
  assert.deepEqual(document.sources[1], SOURCES[1])
  assert.equal(document.sources[0].content_hash, HEX)
  assert.deepEqual(document.attestations, ATTESTATIONS)
  assert.deepEqual([document.processing, document.metadata], [[], {}])
  assert.equal(row.signature, document.signature)
  assert.equal(row.signer_public_key, document.public_key)
  assert.deepEqual(await read(`/corpora/${row.corpus_id}`), row)
})

test('a corpus is verified offline with the published keys, from its row as saved', async () => {
  const row = await sealed()
  const verdict = await offline(row)
  assert.equal(verdict.valid, true, verdict.reason)
  assert.equal(verdict.type, 'record')
  const changed = structuredClone(row)
  changed.document.sources[0].record_count = 13
  assert.equal((await offline(changed)).valid, false)
})

test("'provenance.verify' names what was checked, and what the record cannot show", async () => {
  const row = await sealed()
  const verified = await read(`/corpora/${row.corpus_id}/verify`)
  assert.equal(verified.passed, true)
  const named = ['signature', 'merkle_consistent', 'sources_consistent', 'cleared']
  for (const name of [...named, 'hash_consistent', 'proposal_digest', 'corpus_id', 'key_known'])
    assert.equal(verified.checks[name], true, name)
  assert.equal(verified.merkle_root, row.merkle_root)
  assert.equal(verified.corpus_hash, row.corpus_hash)
  assert.match(verified.not_checked.join(), /licences.*content_hash/)
  assert.equal(verified.reason, null)
})

test('the same content again is the existing corpus, signed and logged once', async () => {
  const row = await sealed()
  const again = { ...CORPUS, sources: SOURCES.map((source) => ({ ...source })), metadata: null }
  assert.deepEqual(await sealed(again), row)
  assert.deepEqual(await scene.subjects('corpus.sealed'), [row.corpus_id])
  const other = await sealed({ ...CORPUS, name: 'another name' })
  assert.notEqual(other.corpus_id, row.corpus_id)
  assert.equal(other.merkle_root, row.merkle_root)
  const turned = await sealed({ ...CORPUS, sources: SOURCES.toReversed() })
  assert.notEqual(turned.merkle_root, row.merkle_root)
  assert.deepEqual(await read('/stats'), { sealed: 3, cleared: 3 })
})

test('of many concurrent corpora with one content one is sealed and answered to all', async () => {
  const rows = await Promise.all(Array.from({ length: 8 }, () => sealed()))
  assert.equal(new Set(rows.map(({ corpus_id }) => corpus_id)).size, 1)
  assert.deepEqual(await read('/stats'), { sealed: 1, cleared: 1 })
})

test('an idempotency key answers the same corpus, and is refused for another', async () => {
  const headers = { 'idempotency-key': 'k-1' }
  const first = await register(CORPUS, headers)
  assert.equal(first.status, 201, first.text)
  const second = await register(CORPUS, headers)
  assert.deepEqual(second.body, first.body)
  assert.equal(second.headers.get('idempotency-replayed'), 'true')
  assert.equal((await register({ ...CORPUS, name: 'other' }, headers)).status, 409)
  const later = { 'idempotency-key': 'k-2' }
  assert.deepEqual((await register(CORPUS, later)).body, first.body)
  assert.equal((await register({ ...CORPUS, name: 'other' }, later)).status, 409)
})

test("'provenance.proof' proves each source offline; another source or leaf does not", async () => {
  const row = await sealed()
  for (const [i, { id }] of SOURCES.entries()) {
    const proof = await proofOf(row.corpus_id, id)
    assert.equal(proof.included, true)
    assert.deepEqual(proof.source, row.document.sources[i])
    assert.equal(proof.leaf_index, i)
    const verdict = verifyCorpusProof(proof, row.document)
    assert.equal(verdict.valid, true, verdict.reason)
    const forged: JsonObject = { ...proof.source, license: 'CC0-1.0' }
    assert.equal(verifyCorpusProof({ ...proof, source: forged }, row.document).valid, false)
    assert.equal(verifyCorpusProof({ ...proof, leaf: HEX }, row.document).valid, false)
  }
  assert.deepEqual(await proofOf(row.corpus_id, 'absent'), {
    included: false,
    corpus_id: row.corpus_id,
    source_id: 'absent',
    reason: 'source_not_in_corpus',
  })
  assert.equal((await ask('GET', `/provenance/corpora/${row.corpus_id}/proof`)).status, 422)
})

test("'provenance.block' answers what a landing certificate repeats", async () => {
  const { corpus_id, merkle_root, corpus_hash } = await sealed()
  const sources = SOURCES.map(({ id }) => id)
  assert.deepEqual(await read(`/corpora/${corpus_id}/block`), {
    ...{ corpus_id, merkle_root, corpus_hash, sources },
  })
})

test("'provenance.list' pages newest first; 'provenance.stats' counts", async () => {
  assert.deepEqual(await read('/stats'), { sealed: 0, cleared: 0 })
  assert.deepEqual((await read('/corpora')).corpora, [])
  const ids: string[] = []
  for (let i = 0; i < 13; i += 1)
    ids.unshift((await sealed({ ...CORPUS, name: `c-${i}` })).corpus_id)
  const all = await read('/corpora')
  assert.equal(Object.keys(all)[0], 'corpora')
  assert.deepEqual(
    all.corpora.map(({ corpus_id }: { corpus_id: string }) => corpus_id),
    ids,
  )
  const page = await read('/corpora?limit=12&offset=0')
  const rest = await read(`/corpora?limit=12&cursor=${page.next_cursor}`)
  assert.deepEqual([...page.corpora, ...rest.corpora], all.corpora)
  for (const query of ['limit=0', 'limit=201', 'offset=-1', 'cursor=x'])
    assert.equal((await ask('GET', `/provenance/corpora?${query}`)).status, 422, query)
})

test('a page shows every corpus once, while others are sealed', async (t) => {
  const ids: string[] = []
  for (let i = 0; i < 13; i += 1)
    ids.unshift((await sealed({ ...CORPUS, name: `c-${i}` })).corpus_id)
  const { db } = scene.service.kernel
  const before = db.read.bind(db)
  let sealing = false
  t.mock.method(db, 'read', async (...args: Parameters<typeof before>) => {
    const found = await before(...args)
    if (Array.isArray(found) && found.length > 0 && !sealing) {
      sealing = true
      await sealed({ ...CORPUS, name: 'meanwhile' })
    }
    return found
  })
  const { corpora } = await read('/corpora?limit=13')
  assert.equal(sealing, true)
  assert.deepEqual(
    corpora.map(({ corpus_id }: { corpus_id: string }) => corpus_id),
    ids,
  )
})

test('a large document is left out of a list and read by its id', async () => {
  const metadata = { note: 'n'.repeat(LISTED_DOCUMENT_BYTES_MAX) }
  const row = await sealed({ ...CORPUS, metadata })
  const { corpora } = await read('/corpora')
  assert.deepEqual(corpora, [{ ...row, document: null }])
  assert.deepEqual((await read(`/corpora/${row.corpus_id}`)).document.metadata, metadata)
})

test('an unknown corpus, and one of another tenant, is 404 everywhere', async () => {
  const row = await sealed()
  await scene.changeTenant()
  for (const id of [UNKNOWN, row.corpus_id])
    for (const rest of ['', '/verify', '/proof?source_id=x', '/block']) {
      const answer = await ask('GET', `/provenance/corpora/${id}${rest}`)
      assert.equal(answer.status, 404, rest)
      assert.equal(answer.body.error, 'corpus_not_found')
    }
})

test('the largest corpus is sealed, proved and verified', { timeout: 120_000 }, async () => {
  const sources = Array.from({ length: CORPUS_SOURCES_MAX }, (_, i) => ({
    ...{ id: `source-${i}`, license: 'CC-BY-4.0', content_hash: HEX, record_count: i },
  }))
  const row = await sealed({ ...CORPUS, sources })
  assert.equal(row.source_count, CORPUS_SOURCES_MAX)
  const proof = await proofOf(row.corpus_id, 'source-9999')
  assert.equal(verifyCorpusProof(proof, row.document).valid, true)
  assert.equal((await read(`/corpora/${row.corpus_id}/verify`)).passed, true)
  const more = await register({ ...CORPUS, sources: [...sources, { id: 'x', license: 'MIT' }] })
  assert.equal(more.status, 422)
})

test('reading needs artifacts:read, sealing artifacts:admin', async () => {
  const keyOf = async (scopes: string[]): Promise<string> => {
    const { body } = await ask('POST', '/keys', { name: 'k', scopes })
    return body.api_key
  }
  const status = async (key: string, method: string, path: string, body?: object) =>
    (
      await scene.service.request(method, `/v1/provenance${path}`, {
        key,
        ...(body ? { body } : {}),
      })
    ).status
  const [reader, admin] = [await keyOf(['artifacts:read']), await keyOf(['artifacts:admin'])]
  assert.equal(await status(reader, 'POST', '/corpora', CORPUS), 403)
  assert.equal(await status(admin, 'POST', '/corpora', CORPUS), 201)
  assert.equal(await status(reader, 'GET', '/corpora'), 200)
  assert.equal(await status(admin, 'GET', '/corpora'), 403)
})
