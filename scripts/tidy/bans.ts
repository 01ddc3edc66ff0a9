// Finds banned constructions, each with its replacement.

import ts from 'typescript-6'
import { type Ban, isProduct, isTest, isTestSupport, matches } from './architecture.ts'
import { type Code, commentsOf, type Finding, lineOf, type Project, visit } from './project.ts'

type Hit = Omit<Finding, 'path'>

/** Finds ambient time and chance, escapes from the type system, default exports, held tests. */
export function checkBans(project: Project): Finding[] {
  const { architecture } = project
  return [...project.code.values()].flatMap((code) =>
    [...ambient(architecture.bans, code), ...typeEscapes(code), ...moduleForms(code)]
      .concat([...marks(code), ...heldTests(code)])
      .map((hit) => ({ path: code.path, ...hit })),
  )
}

function ambient(bans: readonly Ban[], code: Code): Hit[] {
  if (!isProduct(code.path)) return []
  const active = bans.filter(({ except }) => !matches(code.path, except))
  const hits: Hit[] = []
  visit(code.ast, (node) => {
    const text = spelling(node)
    const ban = text === undefined ? undefined : active.find(({ what }) => what === text)
    if (ban)
      hits.push({
        line: lineOf(code.ast, node),
        rule: 'ambient',
        message: `${ban.what} is banned`,
        use: ban.use,
      })
  })
  return hits
}

/** The spelling of a node in a ban: `a.b`, `new A`, or an identifier. */
function spelling(node: ts.Node): string | undefined {
  if (ts.isPropertyAccessExpression(node)) return node.getText().replaceAll(/[?\s]/g, '')
  if (ts.isNewExpression(node)) return `new ${node.expression.getText()}`
  if (ts.isIdentifier(node)) return node.text
  return undefined
}

function typeEscapes(code: Code): Hit[] {
  const hits: Hit[] = []
  visit(code.ast, (node) => {
    const line = lineOf(code.ast, node)
    if (node.kind === ts.SyntaxKind.AnyKeyword)
      hits.push({ line, rule: 'any', message: 'any is banned', use: 'unknown and a check' })
    if (ts.isNonNullExpression(node))
      hits.push({ line, rule: 'non-null', message: '! is banned', use: 'a check or assert' })
  })
  for (const { line, text } of commentsOf(code))
    if (/@ts-(ignore|expect-error|nocheck)\b/.test(text))
      hits.push({ line, rule: 'ts-comment', message: 'switches types off', use: 'right types' })
  return hits
}

const CONFIG = /\.config\.(ts|js|mjs)$/
const FACE =
  /^packages\/(\w[\w-]*\/src|server\/src\/slices\/[\w-]+|adapters\/src\/[\w-]+)\/index\.ts$/

function moduleForms(code: Code): Hit[] {
  const hits: Hit[] = []
  visit(code.ast, (node) => {
    if (isDefaultExport(node) && !CONFIG.test(code.path)) {
      const message = 'default export'
      hits.push({ line: lineOf(code.ast, node), rule: 'default-export', message, use: 'a name' })
    }
  })
  for (const { line, reexport } of code.imports)
    if (reexport && !FACE.test(code.path)) {
      const message = 'a barrel that is not the face of a slice or package'
      hits.push({ line, rule: 'barrel', message, use: 'an import from the file itself' })
    }
  return hits
}

function isDefaultExport(node: ts.Node): boolean {
  if (ts.isExportAssignment(node)) return true
  if (ts.isExportSpecifier(node)) return node.name.text === 'default'
  return (
    ts.canHaveModifiers(node) &&
    (ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.DefaultKeyword) ?? false)
  )
}

function marks(code: Code): Hit[] {
  return commentsOf(code)
    .filter(({ text }) => /\b(TODO|FIXME|XXX|HACK)\b/.test(text))
    .map(({ line, text }) => ({
      line,
      rule: 'unfinished',
      message: `unfinished: ${text.slice(0, 60)}`,
      use: 'the finished work, or an issue',
    }))
}

const HELD = /^(only|skip|todo)$/

/** Finds tests that are skipped, or that cause others to be skipped. */
function heldTests(code: Code): Hit[] {
  if (!isTest(code.path) && !isTestSupport(code.path)) return []
  const hits: Hit[] = []
  visit(code.ast, (node) => {
    if (!ts.isCallExpression(node)) return
    const held = heldBy(node)
    if (!held) return
    const message = `a test is held back by ${held}`
    hits.push({ line: lineOf(code.ast, node), rule: 'held-test', message, use: 'a test that runs' })
  })
  return hits
}

function heldBy({ expression, arguments: given }: ts.CallExpression): string | undefined {
  const runner = /^(test|it|describe|suite|t|context|ctx)(\.(only|skip|todo))?$/
  const text = expression.getText()
  if (!runner.test(text)) return undefined
  const suffix = text.split('.')[1]
  if (suffix !== undefined) return `.${suffix}`
  for (const options of given.slice(0, 2)) {
    if (!ts.isObjectLiteralExpression(options)) continue
    const name = options.properties.map((p) => p.name?.getText() ?? '').find((n) => HELD.test(n))
    if (name !== undefined) return `{ ${name} }`
  }
  return undefined
}
