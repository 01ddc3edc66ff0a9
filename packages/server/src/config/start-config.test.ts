// Settings that would be taken and then not work: a start refuses them and says why.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseConfig } from './config.ts'

test('an operator key that no header can carry is refused at the start', () => {
  const key = 'a secret of 24 characters'
  assert.equal(parseConfig({ CUSTOS_OPERATOR_KEY: key }).operator_key, key)
  for (const wrong of [`${key}\n`, `${key} `, ` ${key}`, `${key}\t`, `${key}\0x`, `${key}é`])
    assert.throws(
      () => parseConfig({ CUSTOS_OPERATOR_KEY: wrong }),
      /OPERATOR_KEY must be printable/,
    )
})

test('a URL of a database with a misspelt parameter is refused, without its password', () => {
  const parse = (rest: string) =>
    parseConfig({
      CUSTOS_DATABASE_URL: `postgres://custos:pass-word@${rest}`,
      CUSTOS_MASTER_KEY: 'ab'.repeat(32),
    })
  for (const good of [
    'h/d',
    'h/d?sslmode=verify-full',
    'h/d?sslmode=allow',
    'h/d?sslmode=disable&pgbouncer=true',
    'h/d?ssl=true&application_name=x',
  ])
    assert.ok(parse(good).postgres?.database_url.endsWith(good), good)
  const refused = (rest: string, reason: RegExp) =>
    assert.throws(
      () => parse(rest),
      ({ message }) => reason.test(message) && !message.includes('pass-word'),
      rest,
    )
  for (const misspelt of ['sslMode=verify-full', 'ssl_mode=verify-full', 'SSLMODE=require'])
    refused(
      `h/d?${misspelt}`,
      /^CUSTOS_DATABASE_URL has \w+, which has no effect: use ssl, sslmode/,
    )
  for (const misspelt of ['verify_full', 'Require', '', 'on'])
    refused(`h/d?sslmode=${misspelt}`, /^CUSTOS_DATABASE_URL has an unknown sslmode: use disable/)
  for (const misspelt of ['yes', 'True', ''])
    refused(`h/d?pgbouncer=${misspelt}`, /has pgbouncer, which must be true or false$/)
  refused(
    'h:99999/d',
    /^CUSTOS_DATABASE_URL is no URL of one host; in a password, \/ \? # @ : % are/,
  )
})
