// CUSTOS_WITNESSES, CUSTOS_TIMESTAMP_URL: a file that cannot be used stops the start with a line.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { COSIGNATURE_TYPE, verifierKey } from '@custos/proof'
import { openOpensslAuthority } from '../platform/timestamps/testing/openssl-authority.ts'
import { parseConfig } from './config.ts'
import { ConfigError } from './env.ts'

test('CUSTOS_WITNESSES takes a whole policy and nothing else', (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'custos-config-'))
  t.after(() => rmSync(dir, { recursive: true }))
  const path = join(dir, 'witnesses.json')
  const parse = (file: unknown) => {
    writeFileSync(path, typeof file === 'string' ? file : JSON.stringify(file))
    return parseConfig({ CUSTOS_WITNESSES: path }).witnesses
  }
  const key = verifierKey('witness.example/w1', new Uint8Array(32).fill(7), COSIGNATURE_TYPE)
  const url = 'https://witness.example/custos/'
  const witness = { key, url }
  assert.equal(parseConfig({}).witnesses, null)
  assert.deepEqual(parse({ required: 1, witnesses: [witness] }), {
    required: 1,
    witnesses: [{ key, url: 'https://witness.example/custos' }],
  })
  const other = { ...witness, key: key.replace('w1', 'w2') }
  const log = verifierKey('witness.example/w1', new Uint8Array(32).fill(7))
  for (const [what, file] of [
    ['no JSON', 'x'],
    ['a list', []],
    ['nobody', { required: 1, witnesses: [] }],
    ['more than there are', { required: 2, witnesses: [witness] }],
    ['none required', { required: 0, witnesses: [witness] }],
    ['a half', { required: 0.5, witnesses: [witness] }],
    ['one twice', { required: 1, witnesses: [witness, witness] }],
    ['a key with another name', { required: 1, witnesses: [other] }],
    ['the key of a log', { required: 1, witnesses: [{ ...witness, key: log }] }],
    ['another protocol', { required: 1, witnesses: [{ ...witness, url: 'ftp://a.example' }] }],
    ['a password', { required: 1, witnesses: [{ ...witness, url: 'https://a:b@c.example' }] }],
    ['an unknown member', { required: 1, witnesses: [witness], more: 1 }],
    ['an unknown member of a witness', { required: 1, witnesses: [{ ...witness, more: 1 }] }],
  ] as const)
    assert.throws(
      () => parse(file),
      (error) => error instanceof ConfigError && !error.message.includes('\n'),
      what,
    )
  assert.throws(() => parseConfig({ CUSTOS_WITNESSES: join(dir, 'absent') }), ConfigError)
})

test('CUSTOS_TIMESTAMP_URL takes an address together with certificates', (t) => {
  const { root_path: certificates, file } = openOpensslAuthority(t, { key: 'ec' })
  const url = 'https://stamps.example/tsa?policy=1'
  const parse = (address: string | undefined, path: string | undefined) =>
    parseConfig({
      ...(address === undefined ? {} : { CUSTOS_TIMESTAMP_URL: address }),
      ...(path === undefined ? {} : { CUSTOS_TIMESTAMP_CERTIFICATES: path }),
    }).timestamps
  assert.equal(parse(undefined, undefined), null)
  const parsed = parse(url, certificates)
  assert.equal(parsed?.url, url)
  assert.match(parsed?.certificates[0]?.subject ?? '', /CN=root/)
  const alone = parse(undefined, certificates)
  assert.equal(alone?.url, null)
  assert.deepEqual(alone?.certificates[0]?.raw, parsed?.certificates[0]?.raw)
  for (const [what, address, path] of [
    ['an address alone', url, undefined],
    ['a password', 'https://a:b@stamps.example/', certificates],
    ['another protocol', 'ftp://stamps.example/', certificates],
    ['no address', 'stamps.example', certificates],
    ['no file', url, `${certificates}.absent`],
    ['a file without certificates', url, file('empty.pem', 'nothing')],
  ] as const)
    assert.throws(
      () => parse(address, path),
      (error) => error instanceof ConfigError && !error.message.includes('\n'),
      what,
    )
})
