// The auditor's page: its programs, taken from the page, run on a real service's answers.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { detectEnvelope, verifyEnvelope } from '@custos/proof'
import {
  OPERATOR_KEY,
  startTestService,
  type TestService,
} from '../../packages/server/src/testing/harness.ts'
import { blocksOf, readPage } from './testing/page.ts'

const LINES_MAX = 20
const TIMEOUT_MS = 20_000

/** Answers of every shape, altered at will. */
type Answer = Awaited<ReturnType<TestService['request']>>['body']

interface Run {
  readonly status: number | null
  readonly output: string
}

let dir: string
let service: TestService
let key: string
let files = 0

before(async () => {
  requireTool('python3', ['-c', 'import sys; assert sys.version_info >= (3, 9)'])
  requireTool('openssl', ['pkeyutl', '-help'])
  dir = mkdtempSync(join(tmpdir(), 'custos-audit-'))
  for (const [name, program] of programs()) writeFileSync(join(dir, name), program)
  service = await startTestService()
  key = (await service.createTenant('audited')).api_key
  await live()
})

after(async () => {
  await service?.stop()
  if (dir) rmSync(dir, { recursive: true, force: true })
})

function requireTool(name: string, args: readonly string[]): void {
  const { error, status } = spawnSync(name, [...args], { stdio: 'ignore' })
  const missing = error !== undefined || status !== 0
  assert.ok(!missing, `${name} is needed: docs/verifying.md is tested by running its programs`)
}

/** By file name, which the first line of each program says. */
function programs(): Map<string, string> {
  const python = blocksOf(readPage('docs/verifying.md')).filter((b) => b.language === 'python')
  return new Map(python.map(({ text }) => [/^# (\S+):/.exec(text)?.[1] ?? '', text]))
}

async function ask(method: string, path: string, body?: unknown): Promise<Answer> {
  const answer = await service.request(method, path, { key, ...(body ? { body } : {}) })
  assert.equal(answer.status, 200, `${method} ${path}: ${answer.text}`)
  return answer.body
}

const CONTENT = 'Zoë Ångström of Ὀδησσός owes "ten" \\ 🎈\u2028 to nobody.'

// A log of a dozen entries with a checkpoint in the middle and one at the end.
async function live(): Promise<void> {
  const write = (content: string) => ask('POST', '/v1/stores/default/write', { content })
  const { ref } = await write(CONTENT)
  for (const word of ['rain', 'hail', 'snow']) await write(`She does not mind the ${word}.`)
  await ask('POST', '/v1/decisions/log', {
    store_id: 'default',
    model_id: 'model-π',
    query: 'What does she owe?',
    output: `It says: ${CONTENT}`,
    retrieved_refs: [ref],
  })
  await ask('POST', '/v1/gcrumbs/roll')
  issued = await ask('POST', '/v1/erasure/issue', { fact_ref: ref, requested_by: 'Büro 7' })
  for (const word of ['fog', 'dew']) await write(`She likes ${word}.`)
  last = await ask('POST', '/v1/gcrumbs/roll')
  keys = await ask('GET', '/v1/gcrumbs/public_key')
}

let issued: Answer
let last: Answer
let keys: Answer

function save(text: string): string {
  files += 1
  const path = join(dir, `${files}.json`)
  writeFileSync(path, text)
  return path
}

const python = (program: string, ...documents: unknown[]): Promise<Run> =>
  runFiles(program, ...documents.map((document) => save(JSON.stringify(document))))

async function runFiles(program: string, ...paths: string[]): Promise<Run> {
  const args = [join(dir, program), ...paths]
  const child = spawn('python3', args, { stdio: ['ignore', 'pipe', 'pipe'], timeout: TIMEOUT_MS })
  const exit = new Promise<number | null>((resolve) => child.on('exit', resolve))
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { status: await exit, output: `${out}${err}`.trim() }
}

const signatures = (document: Answer, list: Answer = keys) =>
  python('signatures.py', list, document)

async function accepts(run: Promise<Run>, expected: RegExp): Promise<void> {
  const { status, output } = await run
  assert.equal(status, 0, output)
  assert.match(output, expected)
}

async function refuses(run: Promise<Run>, what: string): Promise<void> {
  const { status, output } = await run
  assert.equal(status, 1, `${what} was accepted: ${output}`)
}

/** A deep copy, altered. */
function altered(document: Answer, alter: (copy: Answer) => void): Answer {
  const copy = structuredClone(document)
  alter(copy)
  return copy
}

const flipped = (hex: string): string => (hex.startsWith('0') ? '1' : '0') + hex.slice(1)

test('each program of the page has at most twenty lines', () => {
  const found = [...programs()].sort()
  assert.deepEqual(
    found.map(([name]) => name),
    ['paths.py', 'signatures.py'],
  )
  for (const [name, program] of found) {
    const lines = program.split('\n').filter((line) => line.trim() !== '' && !/^#/.test(line))
    assert.ok(lines.length <= LINES_MAX, `${name} has ${lines.length} lines`)
  }
})

test('an auditor accepts a certificate as issued and as read again', async () => {
  await accepts(signatures(issued), /^signed by erasure key [0-9a-f]+$/)
  const stored = await ask('GET', `/v1/erasure/${issued.certificate_id}`)
  await accepts(signatures(stored), /^signed by erasure key/)
})

test('an auditor accepts a certificate of off-boarding, and refuses an altered one', async () => {
  const { tenant_id } = await service.createTenant('leaves')
  const path = `/v1/admin/tenants/${tenant_id}/destroy-key`
  const body = { confirm: `destroy ${tenant_id}`, requested_by: 'Büro 7' }
  const { certificate } = (await service.request('POST', path, { key: OPERATOR_KEY, body })).body
  await accepts(signatures(certificate), /^signed by erasure key [0-9a-f]+$/)
  await accepts(signatures(certificate.last_checkpoint), /^signed by checkpoint key/)
  const other = altered(certificate, (copy) => (copy.limits[0] = 'none'))
  await refuses(signatures(other), 'limits')
})

test('an auditor refuses a certificate in which any signed field was changed', async () => {
  const alterations: Record<string, (copy: Answer) => void> = {
    certificate_id: (c) => (c.certificate_id = flipped(c.certificate_id)),
    tenant_id: (c) => (c.tenant_id += 'x'),
    fact_ref: (c) => (c.fact_ref += 1),
    outcome: (c) => (c.outcome = 'already_absent'),
    coverage: (c) => (c.coverage.data = 'present'),
    scrubbed_decision_ids: (c) => c.scrubbed_decision_ids.pop(),
    'verification.paths': (c) => c.verification.paths.pop(),
    limits: (c) => c.limits.shift(),
    requested_by: (c) => (c.requested_by = 'Buro 7'),
    erasure_completed_at: (c) => (c.erasure_completed_at = '2020-01-01T00:00:00.000000Z'),
    'a field that was added': (c) => (c.complete = true),
    signature: (c) =>
      (c.signature = `${c.signature.startsWith('A') ? 'B' : 'A'}${c.signature.slice(1)}`),
  }
  await Promise.all(
    Object.entries(alterations).map(([what, alter]) =>
      refuses(signatures(altered(issued, alter)), what),
    ),
  )
})

test('an auditor trusts the published keys of the right purpose and time only', async () => {
  const without = (alter: (published: Answer) => void) =>
    altered(keys, (list) => {
      for (const published of list.keys) if (published.purpose === 'erasure') alter(published)
    })
  const other = without((published) => (published.public_key = flipped(published.public_key)))
  await refuses(signatures(issued, other), 'another key')
  const purpose = without((published) => (published.purpose = 'decision'))
  await refuses(signatures(issued, purpose), 'a key of another purpose')
  const retired = without((published) => (published.retired_at = published.valid_from))
  await refuses(signatures(issued, retired), 'a key retired before')
  const later = without((published) => (published.valid_from = '2999-01-01T00:00:00.000000Z'))
  await refuses(signatures(issued, later), 'a key valid later')
})

test('an auditor recomputes the identity of a decision and checks its signature', async () => {
  const { decisions } = await ask('GET', '/v1/decisions')
  const [decision] = decisions
  await accepts(signatures(decision), /^signed by decision key/)
  for (const field of ['tenant_id', 'store_id', 'model_id', 'query', 'timestamp'])
    await refuses(signatures({ ...decision, [field]: `${decision[field]}0` }), field)
  const renamed = { ...decision, decision_id: flipped(decision.decision_id) }
  await refuses(signatures(renamed), 'another id')
  await refuses(signatures({ ...decision, signature: issued.signature }), 'another signature')
})

test('an auditor checks the signature of every checkpoint, alone and inside a proof', async () => {
  const proof = await ask('GET', `/v1/gcrumbs/epochs/${last.epoch_number}/proof?seq=0`)
  const consistency = await ask('GET', '/v1/gcrumbs/epochs/2/consistency?from=1')
  for (const document of [last, proof, consistency])
    await accepts(signatures(document), /^signed by checkpoint key/)
  const grown = (note: string) => note.replace(/\n(\d+)\n/, (_, size) => `\n${Number(size) + 1}\n`)
  await refuses(signatures({ ...last, checkpoint: grown(last.checkpoint) }), 'a larger size')
  const moved = { ...last, checkpoint: `x${last.checkpoint}` }
  await refuses(signatures(moved), 'another origin')
  const one = { ...consistency, from_checkpoint: grown(consistency.from_checkpoint) }
  await refuses(signatures(one), 'an altered earlier checkpoint')
  await refuses(signatures({}), 'a document without a signature')
})

test('an auditor follows the path of every entry to the signed root', async () => {
  assert.ok(last.tree_size > 8)
  const seqs = Array.from({ length: last.tree_size }, (_, seq) => seq)
  const follow = async (seq: number) => {
    const proof = await ask('GET', `/v1/gcrumbs/epochs/${last.epoch_number}/proof?seq=${seq}`)
    const holds = new RegExp(`^holds in ${last.origin} at size ${last.tree_size}$`)
    await accepts(python('paths.py', proof), holds)
  }
  await Promise.all(seqs.map(follow))
})

test('an auditor refuses an inclusion proof in which anything was changed', async () => {
  const proof = await ask('GET', `/v1/gcrumbs/epochs/${last.epoch_number}/proof?seq=3`)
  const alterations: Record<string, (copy: Answer) => void> = {
    'a step': (p) => (p.audit_path[0] = flipped(p.audit_path[0])),
    'a step less': (p) => p.audit_path.pop(),
    'a step more': (p) => p.audit_path.push(p.audit_path[0]),
    'another place': (p) => (p.breadcrumb.seq += 1),
    'a place beyond the tree': (p) => (p.breadcrumb.seq = p.tree_size),
    'another event': (p) => (p.breadcrumb.event_type = 'memory.erased'),
    'another payload': (p) => (p.breadcrumb.payload.count = 7),
    'another tree': (p) => (p.checkpoint = p.checkpoint.replace(/\n\d+\n/, '\n5\n')),
  }
  await Promise.all(
    Object.entries(alterations).map(([what, alter]) =>
      refuses(python('paths.py', altered(proof, alter)), what),
    ),
  )
})

test('an auditor accepts that one checkpoint extends another, and nothing else', async () => {
  const proof = await ask('GET', '/v1/gcrumbs/epochs/2/consistency?from=1')
  await accepts(python('paths.py', proof), /^holds in /)
  const alterations: Record<string, (copy: Answer) => void> = {
    'a step': (p) => (p.path[0] = flipped(p.path[0])),
    'a step less': (p) => p.path.pop(),
    'a step more': (p) => p.path.push(p.path[0]),
    'the checkpoints exchanged': (p) => {
      const { from_checkpoint, to_checkpoint } = p
      Object.assign(p, { from_checkpoint: to_checkpoint, to_checkpoint: from_checkpoint })
    },
    'another log': (p) => (p.from_checkpoint = `x${p.from_checkpoint}`),
  }
  await Promise.all(
    Object.entries(alterations).map(([what, alter]) =>
      refuses(python('paths.py', altered(proof, alter)), what),
    ),
  )
})

test('what an auditor cannot read is refused in one line', async () => {
  const whole = JSON.stringify(issued)
  const list = save(JSON.stringify(keys))
  const files = {
    'no file': join(dir, 'nowhere.json'),
    'an empty file': save(''),
    'half a file': save(whole.slice(0, whole.length / 2)),
    'a deep file': save('['.repeat(200_000)),
    'no object': save('[5]'),
    'other members': save('{"audit_path": [1], "checkpoint": 5}'),
    'a key twice': save(whole.replace('{', '{"limits": [],')),
  }
  for (const [what, file] of Object.entries(files))
    for (const run of [runFiles('signatures.py', list, file), runFiles('paths.py', file)]) {
      const { status, output } = await run
      assert.equal(status, 1, what)
      assert.match(output, /^NOT VALID[^\n]{5,200}$/, what)
    }
})

test('the offline verifier recognises every document of the page and agrees', async () => {
  const { decisions } = await ask('GET', '/v1/decisions')
  const documents = {
    certificate: issued,
    decision: decisions[0],
    epoch: last,
    proof: await ask('GET', '/v1/gcrumbs/epochs/2/proof?seq=3'),
    consistency: await ask('GET', '/v1/gcrumbs/epochs/2/consistency?from=1'),
  }
  for (const [type, document] of Object.entries(documents)) {
    const verdict = await verifyEnvelope(detectEnvelope(document), { keys: keys.keys })
    assert.deepEqual([verdict.type, verdict.valid], [type, true], verdict.reason)
  }
  const turned = altered(documents.consistency, (p) => (p.path[0] = flipped(p.path[0])))
  assert.equal((await verifyEnvelope(detectEnvelope(turned), { keys: keys.keys })).valid, false)
})

test('the digest on the log and the salted hash are what the page computes', async () => {
  const page = blocksOf(readPage('docs/verifying.md'))
  const shellBlocks = page.filter(({ language }) => language === 'sh')
  const one = (words: string) => shellBlocks.find((block) => block.text.includes(words))?.text ?? ''
  writeFileSync(join(dir, 'certificate.json'), JSON.stringify(issued))
  const shell = (command: string, ...args: string[]) =>
    spawnSync('bash', ['-c', command, 'bash', ...args], { cwd: dir, encoding: 'utf8' })
  const { breadcrumbs } = await ask('GET', '/v1/gcrumbs/breadcrumbs')
  const certified = breadcrumbs.find((b: Answer) => b.event_type === 'erasure.certified')
  assert.equal(certified.subject, issued.certificate_id)
  assert.equal(shell(one('signed_bytes')).stdout.trim(), certified.payload.digest)
  const erased = breadcrumbs.find((b: Answer) => b.seq === issued.log_seq)
  assert.equal(erased.event_type, 'memory.erased')
  const salted = one("CONTENT_SALT 'the content'").replace(
    "CONTENT_SALT 'the content'",
    '"$1" "$2"',
  )
  const hashed = shell(salted, issued.content_salt, CONTENT)
  assert.equal(hashed.stdout.trim(), issued.fact_content_hash, hashed.stderr)
})
