// Canaries through the registries: artifacts, landing certificates, corpora, compositions.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { answered, marks, refused, type SendParts, twice, unusedFields } from './send-parts.ts'
import { attestBoth, decideBoth, letDeny, letWait } from './waiting.ts'

export async function sendRegistries(parts: SendParts): Promise<void> {
  await registerArtifacts(parts)
  await registerCorpora(parts)
  await askConformance(parts)
  await issueCertificates(parts)
  await compose(parts)
}

const digest = () => randomBytes(32).toString('hex')

async function registerArtifacts(parts: SendParts): Promise<void> {
  const { made } = parts
  const { text, word, json, headers } = marks(parts, 'artifacts.register')
  const asked = { action: 'artifacts.register', path: '/v1/artifacts/register' }
  /** Each is another artifact, with canaries of its own. */
  const body = () => ({
    artifact_ref: text('body.artifact_ref'),
    base_model_ref: text('body.base_model_ref'),
    layers: [{ media_type: word('body.layers[].media_type'), digest: digest(), size: 1 }],
    kind: word('body.kind'),
    metadata: json('body.metadata'),
    ...unusedFields(parts, 'artifacts.register'),
  })
  const first = { body: body(), headers: headers() }
  const { artifact_id } = await twice(parts, { status: 201, path: asked.path }, first)
  made.kept.push({ artifact_id })
  await certify(parts, { artifact_id, ...first.body })

  const wait = () => letWait(parts, asked, { body: body(), headers: headers() })
  const [approved, rejected, signed, denied] = [
    await wait(),
    await wait(),
    await wait(),
    await wait(),
  ]
  for (const waiting of [approved, rejected, signed, denied])
    made.kept.push({ artifact_id: waiting.artifact_id })
  const ids = { approved: approved.artifact_id, rejected: rejected.artifact_id }
  const [approve, reject] = ['artifacts.approve', 'artifacts.reject']
  await decideBoth(parts, ids, { path: '/v1/artifacts', approve, reject })
  await attestBoth(parts, { approve: signed.request_id, deny: denied.request_id })
  await letDeny(parts, asked, { body: body(), headers: headers() })
}

interface Artifact {
  readonly artifact_id: string
  readonly artifact_ref: string
  readonly base_model_ref: string
  readonly kind: string
  readonly layers: readonly { readonly digest: string }[]
}

/** By a landing certificate of the same content. */
async function certify(parts: SendParts, { artifact_id, layers, ...same }: Artifact) {
  const { artifact_ref, base_model_ref, kind } = same
  const body = {
    ...{ artifact_ref, base_model_ref, kind },
    layer_hashes: layers.map((layer) => layer.digest),
    data_provenance: { merkle_root: digest() },
    authority: { delegation_ref: 'd-1', human_principal: 'ana', trust_tier: 'verified' },
    conformance: { result: 'pass' },
    permitted_actions: ['answer'],
  }
  const issued = await answered(parts, { status: 201, path: '/v1/landing/issue' }, { body })
  const { certificate_id } = issued
  const headers = marks(parts, 'artifacts.certify').headers()
  const path = `/v1/artifacts/${artifact_id}/certify`
  await twice(parts, { status: 200, path }, { body: { certificate_id }, headers })
}

async function registerCorpora(parts: SendParts): Promise<void> {
  const { text, word, json, headers } = marks(parts, 'provenance.register')
  const path = '/v1/provenance/corpora'
  const body = () => ({
    name: text('body.name'),
    sources: [
      { id: word('body.sources[].id'), license: text('body.sources[].license') },
      { id: word('body.sources[].id'), lawful_basis: text('body.sources[].lawful_basis') },
      { id: 'with another member', license: 'MIT', ...json('body.sources[].id') },
    ],
    attestations: {
      ...json('body.attestations'),
      representativeness: word('body.attestations{}'),
      bias_examination: json('body.attestations'),
    },
    processing: [word('body.processing[]*'), json('body.processing[]*')],
    metadata: json('body.metadata'),
  })
  const { corpus_id } = await twice(
    parts,
    { status: 201, path },
    { body: body(), headers: headers() },
  )
  parts.made.kept.push({ corpus_id })
  const asked = { action: 'provenance.register', path }
  await letDeny(parts, asked, { body: body(), headers: headers() })
  const unattested = { ...body(), attestations: json('body.attestations') }
  await refused(parts, path, { body: unattested, headers: headers() })
}

/** What both operations of landing take. */
function subjectOf(parts: SendParts, operation: string) {
  const { text, word, json } = marks(parts, operation)
  return {
    artifact_ref: text('body.artifact_ref'),
    base_model_ref: text('body.base_model_ref'),
    kind: word('body.kind'),
    layer_hashes: [digest()],
    data_provenance: {
      merkle_root: digest(),
      corpus_id: word('body.data_provenance.corpus_id'),
      sources: [word('body.data_provenance.sources[]')],
      // The root itself has a closed form: what stands beside it is kept as given.
      ...json('body.data_provenance.merkle_root*'),
    },
    authority: {
      delegation_ref: text('body.authority.delegation_ref'),
      human_principal: text('body.authority.human_principal'),
      trust_tier: 'verified',
    },
  }
}

/** With a word in place of the root: refused, and not repeated. */
async function refuseUnsealed(
  parts: SendParts,
  { operation, path }: { operation: string; path: string },
  body: object,
): Promise<void> {
  const merkle_root = marks(parts, operation).word('body.data_provenance.merkle_root*')
  await refused(parts, path, { body: { ...body, data_provenance: { merkle_root } } })
}

async function askConformance(parts: SendParts): Promise<void> {
  const operation = 'landing.conformance'
  const path = '/v1/landing/conformance'
  const body = subjectOf(parts, operation)
  const found = await answered(parts, { status: 200, path }, { body })
  assert.deepEqual(parts.canaries.foundIn(JSON.stringify(found.reasons)), [])
  const merkle_root = marks(parts, operation).word('body.data_provenance.merkle_root*')
  const unsealed = { ...body, data_provenance: { merkle_root } }
  const failed = await answered(parts, { status: 200, path }, { body: unsealed })
  assert.deepEqual(parts.canaries.foundIn(JSON.stringify(failed)), [])
}

async function issueCertificates(parts: SendParts): Promise<void> {
  const operation = 'landing.issue'
  const { text, word, headers, json } = marks(parts, operation)
  const asked = { action: operation, path: '/v1/landing/issue' }
  const body = () => ({
    ...subjectOf(parts, operation),
    conformance: {
      result: 'pass',
      harness_version: word('body.conformance.harness_version'),
      per_policy: { [word('body.conformance.per_policy{}')]: 'pass' },
      ...json('body.conformance.per_policy'),
    },
    permitted_actions: [text('body.permitted_actions[]'), 'answer'],
  })
  const first = { body: body(), headers: headers() }
  const issued = await twice(parts, { status: 201, path: asked.path }, first)
  const wait = () => letWait(parts, asked, { body: body(), headers: headers() })
  const [approved, rejected] = [await wait(), await wait()]
  const ids = { approved: approved.certificate_id, rejected: rejected.certificate_id }
  for (const landing_id of [issued.certificate_id, ...Object.values(ids)])
    parts.made.kept.push({ landing_id })
  const [approve, reject] = ['landing.approve', 'landing.reject']
  await decideBoth(parts, ids, { path: '/v1/landing', approve, reject })
  await letDeny(parts, asked, { body: body(), headers: headers() })
  await refuseUnsealed(parts, { operation, path: asked.path }, body())
}

async function compose(parts: SendParts): Promise<void> {
  const { text, word, headers } = marks(parts, 'compositions.compose')
  const asked = { action: 'compositions.compose', path: '/v1/compositions' }
  const body = () => ({
    composition_kind: word('body.composition_kind'),
    members: [
      { ref_id: text('body.members[].ref_id'), license: 'Apache-2.0', certified: true },
      { ref_id: 'a-member', license: text('body.members[].license'), certified: true },
    ],
    target_ref: text('body.target_ref'),
    authority: {
      delegation_ref: text('body.authority.delegation_ref'),
      human_principal: text('body.authority.human_principal'),
      trust_tier: 'verified',
    },
  })
  const first = { body: body(), headers: headers() }
  const governed = await twice(parts, { status: 201, path: asked.path }, first)
  const wait = () => letWait(parts, asked, { body: body(), headers: headers() })
  const [approved, rejected] = [await wait(), await wait()]
  const ids = { approved: approved.composition_id, rejected: rejected.composition_id }
  for (const composition_id of [governed.composition_id, ...Object.values(ids)])
    parts.made.kept.push({ composition_id })
  const [approve, reject] = ['compositions.approve', 'compositions.reject']
  await decideBoth(parts, ids, { path: asked.path, approve, reject })
  await letDeny(parts, asked, { body: body(), headers: headers() })
  const untrusted = { ...body(), authority: { trust_tier: 'untrusted' } }
  await refused(parts, asked.path, { body: untrusted, headers: headers() })
}
