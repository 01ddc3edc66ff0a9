// The tlog-proof text form.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { toHex } from '../core/encoding.ts'
import { ProofError } from '../core/errors.ts'
import { readVector } from '../testing/fixtures.ts'
import { formatTlogProof, parseTlogProof } from './tlog-proof.ts'

type Vectors = { proof: { tlog_proof: string; audit_path: string[]; checkpoint: string } }
const { proof } = readVector<Vectors>('checkpoint.json')
const zeros = `${'A'.repeat(43)}=`

test('the text carries the same path and the checkpoint verbatim', () => {
  const parsed = parseTlogProof(proof.tlog_proof)
  assert.deepEqual(parsed.path.map(toHex), proof.audit_path)
  assert.equal(parsed.index, 4)
  assert.equal(parsed.checkpoint, proof.checkpoint)
  assert.equal(formatTlogProof(parsed), proof.tlog_proof)
})

test('the lines stand as the specification puts them', () => {
  const path = [new Uint8Array(32)]
  const text = formatTlogProof({ index: 7, path, checkpoint: 'c\n', extra: new Uint8Array(1) })
  assert.equal(text, `c2sp.org/tlog-proof@v1\nextra AA==\nindex 7\n${zeros}\n\nc\n`)
  const bare = formatTlogProof({ index: 0, path: [], checkpoint: 'c\n' })
  assert.equal(bare, 'c2sp.org/tlog-proof@v1\nindex 0\n\nc\n')
})

test('every proof comes back as it went', () => {
  const hash = fc.uint8Array({ minLength: 32, maxLength: 32 })
  const parts = fc.record({ index: fc.maxSafeNat(), path: fc.array(hash, { maxLength: 64 }) })
  fc.assert(
    fc.property(parts, fc.option(fc.uint8Array(), { nil: undefined }), (part, extra) => {
      const whole = { ...part, checkpoint: 'a\n\nb\n', ...(extra === undefined ? {} : { extra }) }
      assert.deepEqual(parseTlogProof(formatTlogProof(whole)), whole)
    }),
  )
})

test('a text out of form is refused', () => {
  const head = 'c2sp.org/tlog-proof@v1\n'
  const bad = [
    '',
    'c2sp.org/tlog-proof@v2\nindex 0\n\nc\n',
    `${head}index 00\n\nc\n`,
    `${head}index -1\n\nc\n`,
    `${head}index 9007199254740992\n\nc\n`,
    `${head}index 0\nextra AA==\n\nc\n`,
    `${head}extra !\nindex 0\n\nc\n`,
    `${head}index 0\nAA==\n\nc\n`,
    `${head}index 0\nc\n`,
    `${head}index 0\n\nc`,
    `${head}\n\nc\n`,
    `${head}index 0\n${`${zeros}\n`.repeat(65)}\nc\n`,
  ]
  for (const text of bad) assert.throws(() => parseTlogProof(text), ProofError, text)
})
