// Corpora over HTTP: what is not sealed, and why.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  CORPUS_BODY_BYTES_MAX,
  CORPUS_PROCESSING_MAX,
  SOURCE_GROUND_CHARS_MAX,
  SOURCE_ID_CHARS_MAX,
} from '@custos/contract'
import { ATTESTATIONS, CORPUS, HEX, openCorpusScene, SOURCES } from './testing/corpus-scene.ts'

const scene = openCorpusScene()
const { register, sealed, read, offline, policy } = scene

describe('before any policy, an uncleared corpus is refused with every reason', () => {
  const reasonsOf = async (more: object): Promise<string[]> => {
    const { status, body, text } = await register({ ...CORPUS, ...more })
    assert.equal(status, 422, text)
    assert.equal(body.error, 'rejected')
    assert.equal(body.detail.status, 'rejected')
    assert.deepEqual(await read('/stats'), { sealed: 0, cleared: 0 })
    return body.detail.reasons
  }
  const missing = (name: string) => `attestations have no ${name}`

  test('sources without licence and lawful basis, each by its position', async () => {
    const sources = [
      { id: 'a' },
      { id: 'b', license: 'MIT' },
      { id: 'c', license: ' ', lawful_basis: '' },
      { id: 'd', license: null },
    ]
    assert.deepEqual(await reasonsOf({ sources, attestations: {} }), [
      'sources[0] has neither license nor lawful_basis',
      'sources[2] has neither license nor lawful_basis',
      'sources[3] has neither license nor lawful_basis',
      missing('representativeness'),
      missing('bias_examination'),
    ])
  })

  test('attestations without a statement', async () => {
    for (const nothing of [null, false, 0, '', ' ', [], {}]) {
      const attestations = { ...ATTESTATIONS, bias_examination: nothing }
      assert.deepEqual(await reasonsOf({ attestations }), [missing('bias_examination')])
    }
    const attestations = { bias_examination: true }
    assert.deepEqual(await reasonsOf({ attestations }), [missing('representativeness')])
  })

  test('two sources of one id', async () => {
    const [first, second] = SOURCES
    const sources = [first, second, first]
    const reason = 'sources[2] has the id of sources[0]'
    assert.deepEqual(await reasonsOf({ sources }), [reason])
  })

  test('and no rate limit counts it', async () => {
    await policy('rate_limit', { max_requests: 1, operations: ['provenance.register'] })
    await reasonsOf({ attestations: {} })
    await reasonsOf({ attestations: {} })
    await sealed()
  })
})

describe('the schema refuses what is not a corpus', () => {
  const source = { id: 'a', license: 'MIT' }
  const sourceCases: [object, (string | number)[]][] = [
    [{ id: undefined }, ['id']],
    [{ id: '' }, ['id']],
    [{ id: 7 }, ['id']],
    [{ id: 'x'.repeat(SOURCE_ID_CHARS_MAX + 1) }, ['id']],
    [{ license: 7 }, ['license']],
    [{ license: 'x'.repeat(SOURCE_GROUND_CHARS_MAX + 1) }, ['license']],
    [{ content_hash: HEX.slice(1) }, ['content_hash']],
    [{ content_hash: `md5:${HEX}` }, ['content_hash']],
    [{ record_count: -1 }, ['record_count']],
    [{ record_count: 1.5 }, ['record_count']],
  ]
  for (const [more, at] of sourceCases)
    test(`a source with ${JSON.stringify(more).slice(0, 40)}`, async () => {
      const { status, body } = await register({ ...CORPUS, sources: [{ ...source, ...more }] })
      assert.equal(status, 422)
      assert.deepEqual(body.detail[0].loc, ['body', 'sources', 0, ...at])
    })

  const bodyCases: [object, string][] = [
    [{ sources: [] }, 'sources'],
    [{ sources: undefined }, 'sources'],
    [{ sources: {} }, 'sources'],
    [{ name: '' }, 'name'],
    [{ name: 'x'.repeat(201) }, 'name'],
    [{ attestations: [] }, 'attestations'],
    [{ processing: Array.from({ length: CORPUS_PROCESSING_MAX + 1 }, () => 1) }, 'processing'],
    [{ metadata: 'text' }, 'metadata'],
  ]
  for (const [more, member] of bodyCases)
    test(`a corpus with ${JSON.stringify(more).slice(0, 40)}`, async () => {
      const { status, body } = await register({ ...CORPUS, ...more })
      assert.equal(status, 422)
      assert.equal(body.detail[0].loc[1], member)
    })

  test('a body beyond its limit', async () => {
    const metadata = { note: 'n'.repeat(CORPUS_BODY_BYTES_MAX) }
    assert.equal((await register({ ...CORPUS, metadata })).status, 413)
  })
})

describe('policies on provenance.register', () => {
  const models = { models: ['none'] }
  const asked = { operations: ['provenance.register'] }

  test('a denial is 422 rejected, stores nothing, and is logged as an evaluation', async () => {
    await policy('content_filter', { patterns: ['mails'], check_fields: ['name'] })
    const { status, body } = await register(CORPUS)
    assert.equal(status, 422)
    assert.equal(body.error, 'rejected')
    assert.equal(body.detail.status, 'rejected')
    assert.match(body.detail.reasons[0], /^sealing was denied by the policy a [a-z_]+: /)
    assert.deepEqual(await read('/stats'), { sealed: 0, cleared: 0 })
    assert.equal((await scene.subjects('evaluation.denied')).length, 1)
    assert.deepEqual(await scene.subjects('corpus.sealed'), [])
    assert.equal((await sealed({ ...CORPUS, name: 'tickets' })).status, 'sealed')
  })

  test('an escalation is 403: there is no state to wait in', async () => {
    await policy('hitl_required', asked)
    const { status, body } = await register(CORPUS)
    assert.equal(status, 403)
    assert.equal(body.error, 'approval_required')
    assert.deepEqual(await read('/stats'), { sealed: 0, cleared: 0 })
  })

  test('a denial beside an escalation is a denial', async () => {
    await policy('hitl_required', asked)
    await policy('content_filter', { patterns: ['mails'], check_fields: ['name'] })
    assert.equal((await register(CORPUS)).body.error, 'rejected')
  })

  test('a policy on members that sealing does not have does not apply', async () => {
    await policy('model_allowlist', models)
    assert.equal((await sealed()).document.policy_set, 1)
  })

  test('a name that a policy redacts is redacted in what is hashed and signed', async () => {
    await policy(
      'pii_guard',
      { entities: ['EMAIL_ADDRESS'], check_fields: ['name'], redact: true },
      { action: 'log_only' },
    )
    const row = await sealed({ ...CORPUS, name: 'mails of ana@example.com' })
    assert.ok(!JSON.stringify(row).includes('ana@example.com'))
    assert.deepEqual(await sealed({ ...CORPUS, name: 'mails of ana@example.com' }), row)
    assert.equal((await read(`/corpora/${row.corpus_id}/verify`)).passed, true)
    const verdict = await offline(row)
    assert.equal(verdict.valid, true, verdict.reason)
  })
})
