// What callers are told when PostgreSQL fails, by the code it gives.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DatabaseError } from 'pg'
import { Refusal } from '../../refusal.ts'
import { asPostgresError, asRefusal, InexactNumber } from './error.ts'

const ofServer = (code: string, message = 'secret') =>
  asPostgresError(Object.assign(new DatabaseError(message, 1, 'error'), { code }))

const told = (error: Error): unknown => {
  const refusal = asRefusal(error)
  return refusal instanceof Refusal ? [refusal.code, refusal.extras.retry_after_s] : refusal
}

test('no space is storage_full; a server that cannot work now is unavailable', () => {
  assert.deepEqual(told(ofServer('53100')), ['storage_full', 30])
  const gone = ['57P01', '57P03', '53300', '08006', '57014', '55P03', '25P03', '25006', '28P01']
  const raced = ['40001', '40P01']
  for (const code of [...gone, ...raced, 'XX001', '58030'])
    assert.deepEqual(told(ofServer(code)), ['unavailable', 5], code)
  const pool = asPostgresError(new Error('timeout exceeded when trying to connect'))
  assert.deepEqual(told(pool), ['unavailable', 5])
})

test('an invalid statement stays an error, and its text has names and no values', () => {
  for (const code of ['23505', '22P02', '22021']) {
    const error = ofServer(code)
    assert.equal(told(error), error)
    assert.equal(error.message, `PostgreSQL error ${code}`)
  }
  assert.equal(ofServer('42P01', 'no table x').message, 'PostgreSQL error 42P01: no table x')
})

test('sessions that a pooler exchanged are unavailable, and what to set is said', () => {
  for (const code of ['26000', '42P05']) {
    const error = ofServer(code, 'prepared statement "x"')
    assert.deepEqual(told(error), ['unavailable', 5])
    assert.match(error.message, /: behind a pooler its URL needs pgbouncer=true$/)
    const refusal = asRefusal(error)
    assert.ok(refusal instanceof Refusal)
    // What a start that is refused tells.
    assert.equal(refusal.cause, error)
  }
})

test('a missing right is unavailable, and a row that a policy refuses stays an error', () => {
  const denied = (routine: string) =>
    asPostgresError(
      Object.assign(new DatabaseError('denied', 1, 'error'), { code: '42501', routine }),
    )
  assert.deepEqual(told(denied('aclcheck_error')), ['unavailable', 5])
  const ours = denied('ExecWithCheckOptions')
  assert.equal(told(ours), ours)
})

test('a number that cannot be read exactly is told as such', () => {
  const error = new InexactNumber('beyond')
  assert.equal(asPostgresError(error), error)
  assert.equal(told(error), error)
})
