// Ceilings, rules of structure and of words, and the figures of tidy.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { lowerCeilings } from './tidy/ceilings.ts'
import { measure, renderFigures } from './tidy/figures.ts'
import { isBare, plainer } from './tidy/names.ts'
import { findAll } from './tidy/rules.ts'
import { assertRule, locations, SERVER, SLICE, sample } from './tidy/testing/sample.ts'

describe('ceilings', () => {
  const path = `${SERVER}/platform/a.ts`
  const three = { [path]: 'f(a as B, b as B, c as B)' }

  test('as many findings as the ceiling pass, one more is one finding about all', () => {
    assert.deepEqual(locations('casts', three, { ceilings: { casts: 3 } }), [])
    assert.deepEqual(locations('casts', three, { ceilings: { casts: 2 } }), ['architecture.json:1'])
    assert.equal(locations('casts', three, { ceilings: { casts: 0 } }).length, 3)
  })

  test('a ceiling is lowered to the present count and never raised', () => {
    const findings = findAll(sample(three))
    const json = (casts: number, limit: number) =>
      `{ "limits": { "casts": ${limit} }, "ceilings": { "casts": ${casts} } }`
    assert.equal(lowerCeilings(json(9, 9), findings), json(3, 9))
    assert.equal(lowerCeilings(json(1, 1), findings), json(1, 1))
  })

  test('an exemption covers a file or a folder for one rule', () => {
    const exemptions = [{ rule: 'casts', path: `${SERVER}/platform/`, reason: 'a sample' }]
    assert.deepEqual(locations('casts', three, { exemptions }), [])
  })
})

describe('structure', () => {
  const a = `${SERVER}/platform/a.ts`
  const b = `${SERVER}/platform/b.ts`

  test('a folder holds a limited number of files, tests included', () => {
    const folder = `${SERVER}/platform/db/`
    const files = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`${folder}f${i}.test.ts`, '']))
    assert.deepEqual(locations('folder-files', files(24)), [])
    assert.deepEqual(locations('folder-files', files(25)), [`${folder}:1`])
  })

  test('a file exports a limited number of types, but for the contract', () => {
    const types = (count: number) => 'export type A = 1\n'.repeat(count)
    assertRule('exported-types', a, { bad: types(4), good: `${types(3)}type B = 2\n` })
    assert.deepEqual(locations('exported-types', { 'packages/contract/src/a.ts': types(9) }), [])
  })

  test('types count as declarations whether exported or not', () => {
    const text = 'type A = 1\nexport interface B {}\nclass C {}'
    assert.equal(locations('type-declaration', { [a]: text }).length, 2)
  })

  test('an export that nothing imports is found, also one that a face passes on', () => {
    const text = 'export const used = 1, unused = 2'
    const by = (names: string) => ({ [a]: text, [b]: `import { ${names} } from './a.ts'` })
    assert.deepEqual(locations('unused-export', by('used')), [`${a}:2`])
    assert.deepEqual(locations('unused-export', by('used as mine, unused')), [])
    const space = "import * as all from './a.ts'\nf(all.used, all.unused)"
    assert.deepEqual(locations('unused-export', { [a]: text, [b]: space }), [])
    const late = "const all = await import('./a.ts')"
    assert.deepEqual(locations('unused-export', { [a]: text, [b]: late }), [])
    const face = { [`${SLICE}/memory/index.ts`]: "export { used } from '../../platform/a.ts'" }
    assert.equal(locations('unused-export', { ...by('unused'), ...face }).length, 1)
  })

  test('what the face of a package passes on is public', () => {
    const file = 'packages/proof/src/a.ts'
    const face = (text: string) => ({
      [file]: 'export const a = 1',
      'packages/proof/src/index.ts': text,
    })
    assert.deepEqual(locations('unused-export', face("export * from './a.ts'")), [])
    assert.deepEqual(locations('unused-export', face("export { a } from './a.ts'")), [])
    assert.deepEqual(locations('unused-export', face('')), [`${file}:2`])
  })

  test('a small file is joined to its one importer', () => {
    const used = "import { a } from './a.ts'"
    assert.deepEqual(locations('small-file', { [a]: '', [b]: used }), [`${a}:1`])
    assert.deepEqual(locations('small-file', { [a]: '\n'.repeat(61), [b]: used }), [])
    const second = { [`${SERVER}/platform/c.ts`]: used }
    assert.deepEqual(locations('small-file', { [a]: '', [b]: used, ...second }), [])
  })

  test('a small file stands alone if it is pure and tested, a worker, or behind a face', () => {
    const used = "import { a } from './a.ts'"
    const tested = { [b]: used, [`${SERVER}/platform/a.test.ts`]: used }
    assert.deepEqual(locations('small-file', { [a]: 'export const a = 1', ...tested }), [])
    assert.deepEqual(locations('small-file', { [a]: 'await a()', ...tested }), [`${a}:1`])
    const started = `${used}\nnew Worker(new URL('./a.ts', import.meta.url))`
    assert.deepEqual(locations('small-file', { [a]: '', [b]: started }), [])
    assert.deepEqual(
      locations('small-file', { [a]: '', [`${SERVER}/platform/index.ts`]: used }),
      [],
    )
  })
})

describe('words', () => {
  const path = `${SERVER}/platform/a.ts`

  test('a type is a noun', () => {
    for (const name of ['Asked', 'Settling', 'Written', 'Held', 'Which', 'Ready'])
      assert.equal(isBare(name), true, name)
    for (const name of ['Finding', 'Token', 'Seed', 'ApprovalDecision', 'HeldSecret', 'Store'])
      assert.equal(isBare(name), false, name)
    assertRule('type-name', path, {
      bad: 'export interface Asked {}',
      good: 'export type Query = 1',
    })
    assertRule('local-type-name', path, { bad: 'type Asked = 1', good: 'type Query = 1' })
  })

  test('a name uses no word that has a plainer one', () => {
    for (const name of ['lookAround', 'FullWish', 'rows_wanted', 'untilFree', 'letGo', 'row-words'])
      assert.notEqual(plainer(name), undefined, name)
    for (const name of [
      'STORE_NOT_FOUND',
      'lookup',
      'stopWords',
      'keywords',
      'return',
      'validUntil',
    ])
      assert.equal(plainer(name), undefined, name)
    assertRule('banned-word', path, { bad: 'export const look = 1', good: 'const look = 1' })
    for (const name of ['settle', 'asked', 'evaluated'])
      assert.equal(
        locations('banned-word', { [`${SERVER}/platform/${name}.ts`]: '' }).length,
        1,
        name,
      )
    assert.deepEqual(locations('banned-word', { [`${SLICE}/decisions/open.ts`]: '' }), [])
  })

  test('a turn is one of a conversation', () => {
    const bad = 'export const turnCount = 1'
    assertRule('banned-word', path, { bad, good: `// Reads a conversation.\n${bad}` })
  })

  test('banned phrases are found in comments, pages and the contract, over line ends too', () => {
    const rule = 'banned-phrase'
    assertRule(rule, path, { bad: '// Every vector is made anew.', good: "f('anew')" })
    assertRule(rule, path, { bad: 'f()\n/**\n * Lets so\n * many in.\n */', good: '// So, many.' })
    assert.deepEqual(locations(rule, { 'docs/a.md': 'one\n\nit goes\nby it' }), ['docs/a.md:3'])
    assert.deepEqual(locations(rule, { 'docs/a.md': 'not `anew`\n```\nanew\n```\n' }), [])
    assert.equal(locations(rule, { 'packages/contract/src/a.ts': "f('whoever asks')" }).length, 1)
  })

  test('a comment does not begin with "Of"', () => {
    const rule = 'comment-fragment'
    assertRule(rule, path, { bad: 'f() // Of a store.', good: '// The id of a store. Of none.' })
    assertRule(rule, path, { bad: 'f()\n/**\n * Of it.\n */', good: "// A text.\nf('// Of')" })
  })

  test('the glossary is short and gives each word once', () => {
    const page = (words: readonly string[]) => ({
      'STYLE.md': `# A\n## Glossary\n\n| word | meaning |\n|---|---|\n${words
        .map((word) => `| ${word} | a meaning |\n`)
        .join('')}\n## Next\n| a | b |\n`,
    })
    const many = Array.from({ length: 51 }, (_, i) => `word ${i}`)
    assert.deepEqual(locations('glossary', page(many.slice(1))), [])
    assert.deepEqual(locations('glossary', page(many)), ['STYLE.md:56'])
    assert.deepEqual(locations('glossary', page(['Hold', 'store', '`hold`'])), ['STYLE.md:8'])
    assert.deepEqual(locations('glossary', { 'STYLE.md': '# No glossary\n' }), [])
  })
})

test('the figures say what is measured, the target, and by how much it is missed', () => {
  const schema = '{ "type": "object", "properties": {} }'
  const figures = measure(
    sample(
      {
        [`${SERVER}/platform/a.ts`]: "import type { B } from './b.ts'\nexport type A = B",
        [`${SERVER}/platform/b.ts`]: "import type { A } from './a.ts'\nexport type B = A",
        [`${SERVER}/platform/a.test.ts`]: '',
        'README.md': 'one\ntwo\n',
        'openapi.json': `{ "components": { "schemas": { "A": ${schema} } }, "x": ${schema} }`,
      },
      { targets: { file_cycles: 0, readme_lines: 2, type_declarations: 1 } },
    ),
  )
  const now = Object.fromEntries(figures.map((figure) => [figure.measure, figure.now]))
  assert.equal(now['product files'], 2)
  assert.equal(now['product lines'], 6)
  assert.equal(now['file cycles'], 1)
  assert.equal(now['openapi.json named schemas'], 1)
  assert.equal(now['openapi.json repeated objects'], 1)
  const text = renderFigures(figures)
  assert.match(text, /README lines +2 +2 +met/)
  assert.match(text, /type declarations +2 +1 +missed by 1/)
})
