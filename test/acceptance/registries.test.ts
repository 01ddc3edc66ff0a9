// From a corpus to an action: governed at each step, and every record checked without the service.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { isObject, readKeys, verifyEnvelope } from '@custos/proof'
import { Client } from '../crash/testing/client.ts'
import { custos } from '../crash/testing/command-line.ts'
import { OPERATOR_KEY, ServerProcess } from '../crash/testing/server-process.ts'
import { tempDirectory } from '../crash/testing/temp-directory.ts'

const LAYERS = [{ digest: 'a'.repeat(64) }, { digest: `sha256:${'b'.repeat(64)}` }]
const AUTHORITY = {
  delegation_ref: 'mandate-7',
  human_principal: 'Ada Ng',
  trust_tier: 'verified',
}

class Story {
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
  }

  async told(status: number, method: string, path: string, body?: unknown) {
    const sent = body === undefined ? {} : { body }
    const answer = await this.#client.ask(method, `/v1${path}`, sent)
    assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`)
    return answer.body
  }

  /** An artifact, its corpus, a certificate that a person approves, and what is made of them. */
  async tell() {
    const corpus = await this.told(201, 'POST', '/provenance/corpora', {
      name: 'support mails',
      sources: [
        { id: 'mails-2024', lawful_basis: 'contract' },
        { id: 'manuals', license: 'CC-BY-4.0' },
      ],
      attestations: { representativeness: 'sampled by month', bias_examination: 'reviewed' },
    })
    const member = await this.told(
      200,
      'GET',
      `/provenance/corpora/${corpus.corpus_id}/proof?source_id=manuals`,
    )
    const block = await this.told(200, 'GET', `/provenance/corpora/${corpus.corpus_id}/block`)
    const artifact = await this.told(201, 'POST', '/artifacts/register', {
      artifact_ref: 'adapter/support@1',
      base_model_ref: 'base-7b',
      layers: LAYERS,
      metadata: { license: 'MIT' },
    })
    const { certificate, approval } = await this.#land(block)
    const certified = await this.told(200, 'GET', `/artifacts/${artifact.artifact_id}`)
    assert.deepEqual(
      [certified.status, certified.certificate_id],
      ['certified', certificate.certificate_id],
    )
    const composition = await this.told(201, 'POST', '/compositions', {
      composition_kind: 'assistant',
      members: [
        { ref_id: artifact.artifact_id, license: 'MIT', certified: true },
        { ref_id: corpus.corpus_id, license: 'CC-BY-4.0', certified: true },
      ],
      target_ref: 'assistant/support@1',
      authority: AUTHORITY,
    })
    const { type, action } = await this.#act()
    return { corpus, member, artifact: certified, certificate, approval, composition, type, action }
  }

  async #land(data_provenance: object) {
    const { policy_id } = await this.told(200, 'POST', '/governance/policies', {
      name: 'a person lands',
      policy_type: 'hitl_required',
      config: { operations: ['landing.issue'] },
    })
    const { detail } = await this.told(202, 'POST', '/landing/issue', {
      artifact_ref: 'adapter/support@1',
      base_model_ref: 'base-7b',
      layer_hashes: LAYERS.map(({ digest }) => digest),
      data_provenance,
      authority: AUTHORITY,
      conformance: { result: 'pass' },
      permitted_actions: ['answer_mail'],
    })
    assert.equal(detail.status, 'waiting_hitl')
    const path = `/landing/${detail.certificate_id}`
    const self = await this.told(403, 'POST', `${path}/approve`, { approver: 'ada ng' })
    assert.equal(self.error, 'self_approval')
    const certificate = await this.told(200, 'POST', `${path}/approve`, { approver: 'Bo Lind' })
    assert.equal(certificate.approval.approver, 'Bo Lind')
    const { record } = await this.told(200, 'GET', `/hitl/requests/${detail.request_id}/verify`)
    await this.told(200, 'DELETE', `/governance/policies/${policy_id}`)
    return { certificate, approval: record }
  }

  async #act() {
    const properties = { address: { type: 'string', required: true } }
    const object = { kind: 'object', name: 'Mail', spec: { properties } }
    const type = await this.told(201, 'POST', '/world-model/types', object)
    await this.told(201, 'POST', '/world-model/types', {
      kind: 'action',
      name: 'answer_mail',
      spec: {
        operation: 'worldmodel.action.answer_mail',
        required_trust_tier: 'trusted',
        subject_type: 'Mail',
        input_schema: { text: { type: 'string', required: true } },
      },
    })
    const invoke = (status: number, trust_tier: string) =>
      this.told(status, 'POST', '/world-model/actions/invoke', {
        action_name: 'answer_mail',
        subject_refs: [{ type: 'Mail', ref: 'mail-17' }],
        params: { text: 'We have mended it.' },
        authority: { ...AUTHORITY, trust_tier },
      })
    const { detail } = await invoke(403, 'verified')
    const refused = await this.told(200, 'GET', `/world-model/actions/${detail.action_id}`)
    assert.equal(refused.status, 'denied')
    const action = await invoke(201, 'trusted')
    assert.equal(action.status, 'invoked')
    return { type, action }
  }
}

/** The value with each of its leaves changed in turn. */
function* changes(value: unknown, path = ''): Generator<[string, unknown]> {
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries())
      for (const [at, changed] of changes(item, `${path}[${i}]`)) yield [at, value.with(i, changed)]
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, member] of Object.entries(value))
      for (const [at, changed] of changes(member, `${path}.${name}`))
        yield [at, { ...value, [name]: changed }]
  } else if (typeof value === 'number') yield [path, value + 1]
  else if (typeof value === 'boolean') yield [path, !value]
  else yield [path, value === null ? 'x' : `${value}x`]
}

/** The signed record in an answer, or the answer that is one. */
function documentOf(answer: unknown): Readonly<Record<string, unknown>> {
  assert.ok(isObject(answer))
  const { document = null } = answer
  return isObject(document) ? document : answer
}

test('a corpus, a landing, a composition and an action verify offline', async (t) => {
  const data_dir = tempDirectory(t)
  const server = await ServerProcess.serve({ data_dir }).listening()
  try {
    const operator = new Client(server.url, OPERATOR_KEY)
    const made = await operator.ask('POST', '/v1/cloud/tenants', { body: { name: 'story' } })
    const story = new Story(new Client(server.url, made.body.api_key))
    const records = await story.tell()
    const published = await story.told(200, 'GET', '/gcrumbs/public_key')
    await server.stop()

    const keys = join(data_dir, 'keys-of-the-story.json')
    await writeFile(keys, JSON.stringify(published))
    for (const [name, record] of Object.entries(records)) {
      const file = join(data_dir, `${name}-of-the-story.json`)
      await writeFile(file, JSON.stringify(record))
      await custos({ data_dir }, ['verify', file, '--keys', keys])
    }
    await everyChangeIsNoticed(records, readKeys(published.keys))
  } finally {
    await server.killed()
  }
})

async function everyChangeIsNoticed(
  { member, approval, ...records }: Awaited<ReturnType<Story['tell']>>,
  keys: ReturnType<typeof readKeys>,
): Promise<void> {
  // The proof is not signed: it is one of the record that is.
  const corpus = documentOf(records.corpus)
  const envelopes: [string, (record: unknown) => unknown, unknown][] = [
    ['member', (proof) => ({ type: 'corpus_proof', proof, corpus }), member],
    ['approval', (record) => ({ type: 'record', kind: 'approval', record }), approval],
    ...Object.entries(records).map(([name, row]): (typeof envelopes)[number] => {
      const document = documentOf(row)
      const kind = document['record_kind']
      return [name, (record) => ({ type: 'record', kind, record }), document]
    }),
  ]
  for (const [name, envelopeOf, record] of envelopes) {
    assert.equal((await verifyEnvelope(envelopeOf(record), { keys })).valid, true, name)
    for (const [path, changed] of changes(record)) {
      const { valid } = await verifyEnvelope(envelopeOf(changed), { keys })
      assert.equal(valid, false, `a change of ${name}${path} is not noticed`)
    }
  }
}
