// A name is the same however it is written, and no other.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { foldName } from './fold-name.ts'

test('capitals, spaces, composed letters and what is not seen make no other name', () => {
  const ana = foldName('Ana Lima')
  for (const other of [
    ' ana  lima ',
    'ANA LIMA',
    'Ana\u200b Lima',
    'A\u00adna\u2060 Lima',
    'Ana\u00a0Lima\ufe0f',
    '\u202eAna Lima',
    'Ａｎａ Lima',
  ])
    assert.equal(foldName(other), ana, JSON.stringify(other))
  assert.equal(foldName('Jörg Weiß'), foldName('JÖRG WEISS'))
  assert.equal(foldName('Jo\u0308rg'), foldName('jörg'))
})

test('other letters make another name; what cannot be read is none', () => {
  assert.notEqual(foldName('Аna Lima'), foldName('Ana Lima'))
  assert.notEqual(foldName('Ana Lima'), foldName('Ana Lim'))
  for (const nothing of ['', ' ', '\u200b', '\u202e \ufeff']) assert.equal(foldName(nothing), '')
})
