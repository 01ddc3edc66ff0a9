// A checkpoint dated by an authority that we did not write: `custos verify` and openssl check it.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { runCustos } from '../../packages/cli/src/testing/run.ts'
import { parseConfig } from '../../packages/server/src/config/config.ts'
import {
  type OpensslAuthority,
  openOpensslAuthority,
  serveAuthority,
} from '../../packages/server/src/platform/timestamps/testing/openssl-authority.ts'
import { startTestService } from '../../packages/server/src/testing/harness.ts'
import { rawSql } from '../../packages/server/src/testing/raw-sql.ts'
import { embeddedTest } from '../../packages/server/src/testing/test-data.ts'

async function openScene(t: TestContext, authority: OpensslAuthority) {
  const dir = mkdtempSync(join(tmpdir(), 'custos-timestamps-'))
  const { url } = await serveAuthority(t, authority)
  const env = {
    CUSTOS_TIMESTAMP_URL: url,
    CUSTOS_TIMESTAMP_CERTIFICATES: authority.root_path,
  }
  const { timestamps } = parseConfig(env)
  const data_dir = join(dir, 'data')
  const service = await startTestService({ data_dir, config: { auth: 'local', timestamps } })
  t.after(async () => {
    await service.stop({ keep: true })
    rmSync(dir, { recursive: true })
  })
  const get = async (path: string) => {
    const { status, body, text } = await service.request('GET', path)
    assert.equal(status, 200, text)
    return body
  }
  const save = (name: string, value: unknown): string => {
    const path = join(dir, name)
    writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value))
    return path
  }
  const keys = save('keys.json', await get('/v1/gcrumbs/public_key'))
  return {
    service,
    save,
    get,
    async stampedEpoch() {
      await service.request('POST', '/v1/stores/default/write', { body: { content: 'a note' } })
      await service.request('POST', '/v1/gcrumbs/roll', { body: {} })
      for (let waits = 0; waits < 200; waits += 1) {
        const { last_epoch } = await get('/v1/gcrumbs/stats')
        if (last_epoch.timestamp !== null) return last_epoch
        await delay(50)
      }
      return assert.fail('no timestamp came')
    },
    verify: (file: string, ...args: string[]) =>
      runCustos(['verify', file, '--keys', keys, ...args]),
    fsck: () => runCustos(['fsck', '--data-dir', data_dir], { env }),
  }
}

test('custos verify and openssl accept the timestamp of an epoch, and no other', async (t) => {
  const authority = openOpensslAuthority(t)
  const { stampedEpoch, verify, save, get } = await openScene(t, authority)
  const epoch = await stampedEpoch()
  const saved = save('epoch.json', epoch)
  const trusted = ['--timestamp-certificate', authority.root_path]
  const good = await verify(saved, ...trusted)
  assert.equal(good.status, 0, good.stdout)
  assert.ok(good.stdout.includes(`  ok    timestamp ${epoch.timestamp.stamped_at}\n`), good.stdout)

  const token = authority.file('token.der', Buffer.from(epoch.timestamp.token, 'base64'))
  const data = authority.file('checkpoint', epoch.checkpoint)
  const judged = authority.openssl([
    ...['ts', '-verify', '-token_in', '-in', token, '-data', data],
    ...['-CAfile', authority.root_path],
  ])
  assert.match(judged.text, /Verification: OK/)

  const unasked = await verify(saved)
  assert.equal(unasked.status, 0)
  assert.match(unasked.stdout, /not checked: timestamp: needs the certificate of its authority/)

  const other = openOpensslAuthority(t, { key: 'ec' })
  const { timestamp } = epoch
  for (const [detail, file, path] of [
    ['untrusted_certificate', saved, other.root_path],
    ['it has none', save('none.json', { ...epoch, timestamp: null }), authority.root_path],
    [
      'stamped_at: another time',
      save('time.json', { ...epoch, timestamp: { ...timestamp, stamped_at: epoch.created_at } }),
      authority.root_path,
    ],
    [
      'malformed',
      save('text.json', { ...epoch, timestamp: { ...timestamp, token: 'AAAA' } }),
      authority.root_path,
    ],
    ['malformed', save('hex.json', { ...epoch, timestamp: { token: 5 } }), authority.root_path],
    [
      'only an epoch or a proof shows its timestamp',
      save('note', epoch.checkpoint),
      authority.root_path,
    ],
  ] as const) {
    const { status, stdout } = await verify(file, '--timestamp-certificate', path)
    assert.deepEqual([status, stdout.includes(`FAIL  timestamp: ${detail}\n`)], [1, true], stdout)
  }
  const later = await stampedEpoch()
  const swapped = save('swapped.json', { ...later, timestamp })
  assert.match((await verify(swapped, ...trusted)).stdout, /FAIL {2}timestamp: wrong_imprint/)

  const keyless = save('key-list.json', await get('/v1/gcrumbs/breadcrumbs'))
  const skipped = await verify(keyless, ...trusted)
  assert.match(skipped.stdout, /not checked: timestamp: not a checkpoint/)
  const unusable = await verify(saved, '--timestamp-certificate', saved)
  assert.equal(unusable.status, 1)
  assert.match(unusable.stderr, /has no certificate in PEM\n$/)
})

test('proofs show the timestamp of their checkpoint', async (t) => {
  const authority = openOpensslAuthority(t)
  const { stampedEpoch, verify, save, get } = await openScene(t, authority)
  const { epoch_number, timestamp } = await stampedEpoch()
  for (const path of ['proof?seq=0', `consistency?from=${epoch_number}`]) {
    const saved = save('proof.json', await get(`/v1/gcrumbs/epochs/${epoch_number}/${path}`))
    const { status, stdout } = await verify(saved, '--timestamp-certificate', authority.root_path)
    assert.equal(status, 0, stdout)
    assert.ok(stdout.includes(`ok    timestamp ${timestamp.stamped_at}\n`), stdout)
  }
})

embeddedTest('fsck finds a timestamp that is not one on its checkpoint', async (t) => {
  const { stampedEpoch, fsck, service } = await openScene(t, openOpensslAuthority(t))
  await stampedEpoch()
  const good = await fsck()
  assert.equal(good.status, 0, good.stdout + good.stderr)
  await stampedEpoch()
  const sql = `update epoch_timestamps set token =
    (select token from epoch_timestamps where epoch_number = 2) where epoch_number = ?
    returning epoch_number`
  await rawSql(service, sql, [1])
  const bad = await fsck()
  assert.equal(bad.status, 1)
  assert.match(bad.stdout, /local: log epoch 1: has an invalid timestamp\n/)
})
