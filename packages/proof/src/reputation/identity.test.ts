// Keys of agents: their did, the ones that prove nothing, and statements signed by them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { JsonObject } from '../core/canonical.ts'
import { toHex } from '../core/encoding.ts'
import { ProofError } from '../core/errors.ts'
import { signedBytes } from '../core/signature.ts'
import { readVector, seededKey } from '../testing/fixtures.ts'
import { verifyEnvelope } from '../verify.ts'
import {
  cgrDecisionBytes,
  cgrOutcomeBytes,
  checkStatement,
  didKeyOf,
  isAgentKey,
  keyOfDid,
  type StatementKind,
} from './identity.ts'

type Statement = {
  kind: StatementKind
  message: string
  statement: JsonObject
  signature: string
}
type Vectors = { dids: { key: string; did: string }[]; statements: Statement[] }

const { dids, statements } = readVector<Vectors>('reputation-identity.json')
const [decision] = statements
assert.ok(decision !== undefined)

test('vectors: a key and its did name each other', () => {
  for (const { key, did } of dids) {
    assert.equal(didKeyOf(key), did)
    assert.equal(keyOfDid(did), key)
  }
  assert.equal(dids.length, 3)
})

test('every key comes back from its did, and no other text gives a key', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (bytes) => {
      const [key, did] = [toHex(bytes), didKeyOf(toHex(bytes))]
      assert.equal(keyOfDid(did), key)
      for (const other of [`${did}1`, did.slice(0, -1), did.replace('z6Mk', 'z16Mk'), `${did}0`])
        assert.equal(keyOfDid(other), null)
    }),
  )
  // An X25519 key (multicodec 0xec), a did of another method, and what is no text.
  const x25519 = 'did:key:z6LSeu9HkTHSfLLeUs2nnzUSNedgDUevfNQgQjQC23ZCit6F'
  for (const other of [x25519, 'did:web:example.org', '', null, 7, `did:key:z${'6'.repeat(99)}`])
    assert.equal(keyOfDid(other), null)
  assert.throws(() => didKeyOf('ab'), ProofError)
})

test('a key of small order is not one, whatever its sign bit says', () => {
  const identityPoint = `01${'00'.repeat(31)}`
  const weak = [
    identityPoint,
    '00'.repeat(32),
    `${'00'.repeat(31)}80`,
    `ec${'ff'.repeat(31)}`,
    '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85',
  ]
  for (const text of weak) assert.equal(isAgentKey(text), false, text)
  const { key: good = '' } = dids[0] ?? {}
  assert.equal(isAgentKey(good), true)
  for (const other of [good.toUpperCase(), good.slice(2), `${good}00`, null, 7])
    assert.equal(isAgentKey(other), false)
})

test('vectors: the bytes an agent signs, and its signature over them', async () => {
  assert.equal(statements.length, 3)
  for (const { kind, message, statement, signature } of statements) {
    const bytes = kind === 'cgr_decision' ? cgrDecisionBytes(statement) : cgrOutcomeBytes(statement)
    assert.equal(new TextDecoder().decode(bytes), message)
    assert.equal(await checkStatement(kind, statement, signature), null)
  }
})

test('what is beside the members of a statement is not signed', () => {
  const extended = { ...decision.statement, reason: 'because', context: { amount: 1 } }
  assert.deepEqual(cgrDecisionBytes(extended), cgrDecisionBytes(decision.statement))
})

test('changing or leaving out any member breaks every statement', async () => {
  for (const { kind, statement, signature } of statements)
    for (const name of Object.keys(statement)) {
      const { [name]: _, ...without } = statement
      const changed = [
        { ...statement, [name]: 'changed' },
        { ...statement, [name]: null },
        { ...statement, [name]: 7 },
        without,
      ].filter((one) => JSON.stringify(one[name] ?? null) !== JSON.stringify(statement[name]))
      for (const one of changed)
        assert.notEqual(await checkStatement(kind, one, signature), null, `${kind} ${name}`)
    }
})

test('a signature by another key, of another kind or without a domain proves nothing', async () => {
  const { statement, signature } = decision
  const other = toHex(seededKey(0x61).sign(cgrDecisionBytes(statement)))
  const own = seededKey(0x54)
  const asOutcome = toHex(own.sign(signedBytes('cgr_outcome', statement)))
  const bare = toHex(own.sign(cgrDecisionBytes(statement).slice('custos/cgr_decision/v1\n'.length)))
  for (const one of [other, asOutcome, bare])
    assert.equal(await checkStatement('cgr_decision', statement, one), 'signature')
  const unreadable = [null, 7, '', `${signature}00`.toUpperCase(), 'zz']
  for (const one of unreadable)
    assert.notEqual(await checkStatement('cgr_decision', statement, one), null)
  for (const one of [null, [], 'text', {}, { ...statement, agent_handle: '\ud800' }])
    assert.equal(await checkStatement('cgr_decision', one, signature), 'malformed')
})

test('a statement is checked like any record, and who holds the key is left open', async () => {
  const { statement, signature } = decision
  const verifyRecordOf = async (record: unknown) =>
    verifyEnvelope({ type: 'record', kind: 'cgr_decision', record }, { keys: [] })
  const verdict = await verifyRecordOf({ ...statement, signature })
  assert.equal(verdict.valid, true)
  assert.match(verdict.not_checked.join(), /who holds the key/)
  assert.equal((await verifyRecordOf({ ...statement, decision: 'reject', signature })).valid, false)
  assert.equal((await verifyRecordOf(statement)).valid, false)
  assert.equal((await verifyRecordOf(null)).valid, false)
})
