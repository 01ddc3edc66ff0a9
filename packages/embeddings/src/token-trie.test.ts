// The longest token in a text: the same as by trying every length.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { NONE, ROOT, TokenTrie } from './token-trie.ts'

const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '\u00df', '\ud83d', '\ude00') })

test('finds what trying every length from the longest on finds', () => {
  const tokens = fc.array(
    text.filter((part) => part !== ''),
    { maxLength: 30 },
  )
  fc.assert(
    fc.property(
      tokens,
      text,
      fc.nat(4),
      fc.constantFrom('', 'a', 'b'),
      (texts, searched, from, start) => {
        const trie = new TokenTrie(texts)
        const node = start === '' ? ROOT : trie.childOf(ROOT, start.charCodeAt(0))
        for (let to = from; to <= searched.length; to++) {
          let expected = NONE
          for (let end = to; end > from && expected === NONE; end--)
            expected = texts.lastIndexOf(start + searched.slice(from, end))
          assert.equal(trie.findLongest(node, searched, from, to), expected)
        }
      },
    ),
    { numRuns: 500 },
  )
})
