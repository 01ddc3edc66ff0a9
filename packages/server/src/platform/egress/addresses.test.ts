// Addresses as they are compared: however one is written, it is the same.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AddressList, blockOf } from './addresses.ts'

test('the addresses of one customer are one block, however they are written', () => {
  const blocks: readonly (readonly [block: string, ...spellings: string[]])[] = [
    ['8.8.8', '8.8.8.8', '8.8.8.255', '::ffff:8.8.8.1', '::FFFF:808:801', '0:0:0:0:0:ffff:8.8.8.9'],
    ['2001:db8:0:0', '2001:db8::1', '2001:db8:0:0:ffff::', '2001:0db8:0000::0000:1%eth0'],
    ['2001:db8:0:1', '2001:db8:0:1::', '2001:DB8:0:1:2:3:4:5'],
    ['2001:db8:1:0', '2001:db8:1::1', '2001:db8:1:0:9::'],
    ['0:0:0:0', '::1', '::'],
    ['', '', 'unknown', '::1]/x'],
  ]
  for (const [block, ...spellings] of blocks)
    for (const address of spellings) assert.equal(blockOf(address), block, address)
})

test('a list of addresses holds networks and addresses, and nothing else', () => {
  const list = new AddressList(['10.0.0.0/8', '192.0.2.1', 'fd00::/8'])
  for (const address of ['10.9.9.9', '::ffff:10.1.1.1', '192.0.2.1', 'fd12::1'])
    assert.ok(list.has(address), address)
  for (const address of ['11.0.0.1', '192.0.2.2', 'fe80::1', '', 'localhost'])
    assert.ok(!list.has(address), address)
  for (const wrong of ['localhost', '10.0.0.0/33', '10.0.0', ''])
    assert.throws(() => new AddressList([wrong]), RangeError, wrong)
})
