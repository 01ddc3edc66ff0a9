// Tokens that openssl makes are accepted, and openssl accepts them; nothing else is taken for one.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { derElement, TAG } from './der.ts'
import { openOpensslAuthority } from './testing/openssl-authority.ts'
import {
  readCertificates,
  timestampRequest,
  verifyTimestampReply,
  verifyTimestampToken,
} from './timestamp-token.ts'

const message = Buffer.from('example.com/log\n7\nroot\n\n— example.com/log signature\n')
const nonce = Buffer.from('80f1e2d3c4b5a697', 'hex')
const request = timestampRequest(message, nonce)

const reasonOf = (verdict: { ok: boolean; reason?: string }) =>
  verdict.ok ? 'accepted' : verdict.reason

test('a token of openssl verifies, by RSA and ECDSA, and openssl verifies what is kept', (t) => {
  for (const key of ['rsa', 'ec'] as const) {
    const authority = openOpensslAuthority(t, { key })
    const trusted = readCertificates(authority.root)
    const before = Date.now()
    const verdict = verifyTimestampReply(authority.reply(request), { message, trusted, nonce })
    assert.ok(verdict.ok, reasonOf(verdict))
    assert.ok(Math.abs(verdict.stamped_us / 1_000 - before) < 60_000)
    // The stored token, later: without the nonce, trusted by the certificate of the signer itself.
    for (const pem of [authority.root, authority.own])
      assert.deepEqual(
        verifyTimestampToken(verdict.token, { message, trusted: readCertificates(pem) }),
        verdict,
      )
    const token = authority.file('token.der', verdict.token)
    const data = authority.file('message', message)
    const judged = authority.openssl([
      ...['ts', '-verify', '-token_in', '-in', token, '-data', data],
      ...['-CAfile', authority.root_path],
    ])
    assert.equal(judged.status, 0, judged.text)
    assert.match(judged.text, /Verification: OK/)
    const query = authority.openssl([
      'ts',
      '-query',
      '-in',
      authority.file('query', request),
      '-text',
    ])
    assert.match(query.text, /Nonce: 0x80F1E2D3C4B5A697/)
    assert.match(query.text, /Certificate required: yes/)
  }
})

test('an answer for another text, nonce or authority, or none at all, is refused by name', (t) => {
  const authority = openOpensslAuthority(t)
  const other = openOpensslAuthority(t, { key: 'ec' })
  const trusted = readCertificates(authority.root)
  const claim = { message, trusted, nonce }
  const text = Buffer.from('another text')
  const good = authority.reply(request)
  const flipped = Buffer.from(good)
  // The signature is the last member.
  flipped.writeUInt8(flipped.readUInt8(good.length - 1) ^ 1, good.length - 1)
  // It asks for a policy that the authority does not have.
  const query = authority.file('other-query', '')
  const asked = ['-digest', '00'.repeat(32), '-sha256', '-tspolicy', '1.2.3.4.9']
  assert.equal(authority.openssl(['ts', '-query', ...asked, '-out', query]).status, 0)
  const bare = derElement(TAG.sequence, good)
  const cases: readonly (readonly [string, Buffer])[] = [
    ['wrong_imprint', authority.reply(timestampRequest(text, nonce))],
    ['wrong_nonce', authority.reply(timestampRequest(message, Buffer.alloc(8, 1)))],
    ['untrusted_certificate', other.reply(request)],
    ['not_granted', authority.reply(readFileSync(query))],
    ['signature_invalid', flipped],
    ['malformed', bare],
    ['malformed', Buffer.concat([good, Buffer.from([0])])],
    ['malformed', good.subarray(0, -1)],
    ['malformed', Buffer.alloc(0)],
    ['malformed', Buffer.from('<html>moved</html>')],
    ['malformed', Buffer.alloc(5_000, 0x30)],
  ]
  for (const [expected, answer] of cases)
    assert.equal(reasonOf(verifyTimestampReply(answer, claim)), expected)
  assert.equal(reasonOf(verifyTimestampReply(good, claim)), 'accepted')
  // Any signer: the token is whole, but nobody is trusted.
  const untrusted = verifyTimestampReply(other.reply(request), { ...claim, trusted: null })
  assert.equal(reasonOf(untrusted), 'accepted')
  assert.equal(
    reasonOf(verifyTimestampReply(good, { ...claim, trusted: [] })),
    'untrusted_certificate',
  )
})

test('a signature that is no timestamp of the authority is refused by name', (t) => {
  const authority = openOpensslAuthority(t)
  const stamped = verifyTimestampReply(authority.reply(request), { message, trusted: null, nonce })
  assert.ok(stamped.ok)
  const judge = (by: typeof authority, options?: readonly string[]) => {
    const token = by.sign(stamped.token, options)
    return reasonOf(verifyTimestampToken(token, { message, trusted: readCertificates(by.root) }))
  }
  assert.equal(judge(authority), 'accepted')
  assert.equal(judge(authority, ['-cades', '-keyid']), 'accepted')
  assert.equal(judge(authority, ['-cades', '-md', 'sha512']), 'accepted')
  assert.equal(judge(authority, ['-cades', '-nocerts']), 'unknown_certificate')
  assert.equal(judge(authority, ['-cades', '-md', 'sha1']), 'unsupported_algorithm')
  assert.equal(
    judge(authority, ['-cades', '-keyopt', 'rsa_padding_mode:pss']),
    'unsupported_algorithm',
  )
  // Without the attribute that names the certificate, without attributes, and by two signers.
  assert.equal(judge(authority, []), 'malformed')
  assert.equal(judge(authority, ['-noattr']), 'malformed')
  const twice = ['-cades', '-signer', 'root.pem', '-inkey', 'root.key']
  assert.equal(judge(authority, twice), 'malformed')
  for (const purpose of ['both', 'none'] as const)
    assert.equal(judge(openOpensslAuthority(t, { purpose })), 'not_for_timestamps')
})

test('no changed byte of a token gives it another time or makes the reader throw', (t) => {
  const authority = openOpensslAuthority(t, { key: 'ec' })
  const trusted = readCertificates(authority.root)
  const verdict = verifyTimestampReply(authority.reply(request), { message, trusted, nonce })
  assert.ok(verdict.ok)
  let refused = 0
  for (let at = 0; at < verdict.token.length; at += 1)
    for (const bit of [0x01, 0x80]) {
      const changed = Buffer.from(verdict.token)
      changed.writeUInt8(changed.readUInt8(at) ^ bit, at)
      const read = verifyTimestampToken(changed, { message, trusted })
      if (!read.ok) refused += 1
      else assert.equal(read.stamped_us, verdict.stamped_us)
    }
  // What is not signed: versions, the issuer and number of the signer, a second list of digests.
  assert.ok(refused > 1.8 * verdict.token.length, `${refused} of ${2 * verdict.token.length}`)
})

test('certificates are read from PEM, several in a file, and from nothing else', (t) => {
  const { root, own } = openOpensslAuthority(t, { key: 'ec' })
  assert.equal(readCertificates(`comment\n${root}${own}`).length, 2)
  assert.deepEqual(readCertificates('none'), [])
  assert.deepEqual(readCertificates(root.replace(/[A-Z]{4}/g, 'AAAA')), [])
})
