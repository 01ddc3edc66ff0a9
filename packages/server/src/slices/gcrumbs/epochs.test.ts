// A checkpoint that was signed and not stored is neither lost nor passed over.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openScene } from '../../testing/erasure-scene.ts'
import { rawSql } from '../../testing/raw-sql.ts'

test('gcrumbs.roll first stores what was signed and never stored', async () => {
  const scene = await openScene()
  try {
    const roll = async () => (await scene.api('POST', '/v1/gcrumbs/roll', {})).body
    await scene.write('one')
    await roll()
    await scene.write('two')
    const signed = await roll()
    // As a cut connection or a killed process leaves it: only the keyring knows.
    const sql = 'delete from epochs where epoch_number = ? returning epoch_number'
    assert.equal((await rawSql(scene.service, sql, [2])).length, 1)
    await scene.write('three')
    assert.equal((await roll()).epoch_number, 3)
    const { body } = await scene.api('GET', '/v1/gcrumbs/epochs')
    const numbers = body.epochs.map((epoch: { epoch_number: number }) => epoch.epoch_number)
    assert.deepEqual(numbers.toSorted(), [1, 2, 3])
    const again = (await scene.api('GET', '/v1/gcrumbs/epochs/2')).body
    assert.equal(again.checkpoint, signed.checkpoint)
    const { status } = (await scene.api('GET', '/v1/gcrumbs/verify?full=true')).body
    assert.equal(status, 'intact')
  } finally {
    await scene.stop()
  }
})
