// Cosignatures and requests to witnesses, against this project's vectors and published keys.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { toHex, utf8 } from '../core/encoding.ts'
import { ProofError } from '../core/errors.ts'
import { readSavedDocuments, verifySavedDocument } from '../saved-file.ts'
import { readVector, seededKey } from '../testing/fixtures.ts'
import {
  addSignatures,
  checkWitnesses,
  cosignCheckpoint,
  cosignedMessage,
  formatAddCheckpoint,
  parseAddCheckpoint,
  parseWitnessKey,
  verifyCosignatures,
} from './cosignature.ts'
import { assembleNote, parseCheckpoint, parseNote } from './note.ts'
import { parseVerifierKey, verifierKey } from './verifier-key.ts'

type WitnessVector = { name: string; seed_byte: number; key: string; timestamp: number }
const vectors = readVector<{
  witnesses: [WitnessVector, WitnessVector]
  message: string
  checkpoint: string
  cosigned: string
  mutated: { mutation: string; note: string; reason: string }[]
}>('cosignature.json')
const checkpoints = readVector<{ keys: never[] }>('checkpoint.json')
const [first, second] = vectors.witnesses
const { body } = parseNote(vectors.checkpoint)

test('cosignatures are assembled byte for byte as in the vectors, and verify', async () => {
  const lines = vectors.witnesses.map(({ name, seed_byte, key, timestamp }) => {
    const { publicKey, sign } = seededKey(seed_byte)
    assert.equal(verifierKey(name, publicKey, 4), key)
    return cosignCheckpoint(body, { name, publicKey, timestamp, sign })
  })
  assert.deepEqual(cosignedMessage(body, first.timestamp), utf8(vectors.message))
  assert.equal(addSignatures(vectors.checkpoint, lines), vectors.cosigned)
  // A line that is there is not added again.
  assert.equal(addSignatures(vectors.cosigned, lines), vectors.cosigned)
  const found = await verifyCosignatures(vectors.cosigned, [second.key, first.key])
  assert.deepEqual(
    found.map(({ ok, timestamp }) => [ok, timestamp]),
    [
      [true, second.timestamp],
      [true, first.timestamp],
    ],
  )
})

for (const { mutation, note, reason } of vectors.mutated)
  test(`a cosignature with ${mutation} does not verify: ${reason}`, async () => {
    const [found] = await verifyCosignatures(note, [first.key])
    assert.deepEqual([found?.ok, found?.reason], [false, reason])
  })

test('a quorum counts valid cosignatures, and one that is forged fails by itself', async () => {
  const keys = [first.key, second.key]
  const failed = async (note: string, required?: number) =>
    (await checkWitnesses(note, { keys, required })).filter(({ ok }) => !ok).map(({ name }) => name)
  assert.deepEqual(await failed(vectors.cosigned), [])
  const [line] = parseNote(vectors.cosigned).signatures.slice(1)
  assert.ok(line)
  const single = addSignatures(vectors.checkpoint, [line])
  assert.deepEqual(await failed(single), ['witnessed'])
  assert.deepEqual(await failed(single, 1), [])
  const [flipped] = vectors.mutated
  assert.deepEqual(await failed(flipped?.note ?? '', 0), ['cosignature witness.example/w1'])
})

test('a saved checkpoint is checked for witnesses, another document says it was not', async () => {
  const [document] = readSavedDocuments(vectors.cosigned)
  assert.ok(document)
  const verify = (keys: readonly string[]) =>
    verifySavedDocument(document, { keys: checkpoints.keys, entry: undefined, witnesses: { keys } })
  const good = await verify([first.key, second.key])
  assert.ok(good.valid, good.reason)
  const other = verifierKey('witness.example/w3', seededKey(0x46).publicKey, 4)
  assert.match((await verify([other])).reason ?? '', /^witnessed: 0 of the 1 required/)
  const [decision] = readSavedDocuments('{"decision_id": "", "query": "", "timestamp": ""}')
  assert.ok(decision)
  const witnesses = { keys: [first.key] }
  const verdict = await verifySavedDocument(decision, { keys: [], entry: undefined, witnesses })
  assert.ok(verdict.not_checked.includes('cosignatures: not a checkpoint'))
  // Brackets around an epoch do not spare it the witnesses.
  const epoch = { epoch_number: 1, checkpoint: vectors.checkpoint, tree_size: 1, root_hash: '' }
  const [page] = readSavedDocuments(JSON.stringify({ epochs: [epoch] }))
  assert.ok(page)
  const listed = await verifySavedDocument(page, { keys: [], entry: undefined, witnesses })
  const witnessed = listed.checks.find(({ name }) => name === 'witnessed')
  assert.deepEqual([listed.valid, witnessed?.ok], [false, false])
})

test('vkeys that other logs publish are read, and no altered one is', () => {
  for (const [vkey, name] of [
    ['sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8', 'sum.golang.org'],
    ['PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW', 'PeterNeumann'],
  ] as const) {
    const key = parseVerifierKey(vkey)
    assert.deepEqual([key.name, toHex(key.keyHash)], [name, vkey.split('+')[1]])
    assert.throws(() => parseVerifierKey(vkey.replace('+0', '+1').replace('+c', '+d')), ProofError)
    assert.throws(() => parseVerifierKey(vkey.slice(0, -4)), ProofError)
    // The key of a log is not that of a witness.
    assert.throws(() => parseWitnessKey(vkey), ProofError)
  }
  for (const text of ['', '+', 'a+b', 'a+00000000+', first.key.replace('w1', 'w 1')])
    assert.throws(() => parseVerifierKey(text), ProofError, text)
})

test('the body of add-checkpoint is read back as it was written', () => {
  const hash = fc.uint8Array({ minLength: 32, maxLength: 32 })
  const request = fc.record({
    oldSize: fc.nat(),
    path: fc.array(hash, { maxLength: 63 }),
    checkpoint: fc.constant(vectors.cosigned),
  })
  fc.assert(
    fc.property(request, (given) => {
      assert.deepEqual(parseAddCheckpoint(formatAddCheckpoint(given)), { ...given })
    }),
    { numRuns: 50 },
  )
})

test('a body of add-checkpoint in another form is refused', () => {
  const hash = 'A'.repeat(43).concat('=')
  const refused = [
    ['no old size', `\n\n${vectors.checkpoint}`],
    ['leading zero', `old 01\n\n${vectors.checkpoint}`],
    ['negative', `old -1\n\n${vectors.checkpoint}`],
    ['no number', `old x\n\n${vectors.checkpoint}`],
    ['beyond a safe integer', `old 9007199254740993\n\n${vectors.checkpoint}`],
    ['a hash of 33 bytes', `old 1\n${'A'.repeat(44)}\n\n${vectors.checkpoint}`],
    ['no base64', `old 1\n!\n\n${vectors.checkpoint}`],
    ['carriage returns', `old 1\r\n${hash}\r\n\n${vectors.checkpoint}`],
    ['64 hashes', `old 1\n${`${hash}\n`.repeat(64)}\n${vectors.checkpoint}`],
    ['no empty line', `old 1\n${hash}\n`],
  ] as const
  for (const [what, text] of refused)
    assert.throws(() => parseAddCheckpoint(text), ProofError, what)
  assert.equal(parseAddCheckpoint(`old 1\n${`${hash}\n`.repeat(63)}\nx\n`).path.length, 63)
})

test('the example of the specification is read: its log, its witness and its time', () => {
  // c2sp.org/tlog-cosignature; the text does not give the key of the witness.
  const example = [
    'example.com/behind-the-sofa',
    '20852163',
    'CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=',
    '',
    '— example.com/behind-the-sofa ' +
      'Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5' +
      '/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=',
    '— witness.example.com/w1 ' +
      'jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZ' +
      'qhf5nNo0xUe+mbIUBkBIfZ+qnA==',
    '',
  ].join('\n')
  const { origin, size, signatures } = parseCheckpoint(example)
  assert.deepEqual([origin, size], ['example.com/behind-the-sofa', 20_852_163])
  const [log, witness] = signatures
  assert.deepEqual([log?.name, log?.signature.length], ['example.com/behind-the-sofa', 64])
  assert.deepEqual([witness?.name, witness?.signature.length], ['witness.example.com/w1', 72])
  assert.equal(toHex(witness?.keyHash ?? new Uint8Array()), '8d66cf3f')
  assert.equal(Buffer.from(witness?.signature ?? []).readBigUInt64BE(0), 1_679_315_147n)
  assert.equal(assembleNote(parseNote(example).body, signatures), example)
})
