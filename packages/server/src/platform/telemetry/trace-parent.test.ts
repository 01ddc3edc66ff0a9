// The header of W3C Trace Context: what is taken for a trace, and what is not.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseTraceParent } from './trace-parent.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const SPAN = 'b7ad6b7169203331'

test('a trace is read from a header of this version and of later ones', () => {
  const read = { trace_id: TRACE, span_id: SPAN, flags: 1 }
  assert.deepEqual(parseTraceParent(`00-${TRACE}-${SPAN}-01`), read)
  assert.deepEqual(parseTraceParent(`cc-${TRACE}-${SPAN}-01`), read)
  assert.deepEqual(parseTraceParent(`cc-${TRACE}-${SPAN}-01-more`), read)
})

test('a header that breaks the rules is as none, and nothing of it reaches a log line', () => {
  for (const header of [
    undefined,
    '',
    'text',
    [`00-${TRACE}-${SPAN}-01`],
    `ff-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${TRACE}-${SPAN}-0`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `cc-${TRACE}-${SPAN}-01.more`,
    ` 00-${TRACE}-${SPAN}-01`,
  ])
    assert.equal(parseTraceParent(header), null, String(header))
})
