// Checks that a test names each operation of the contract.

import ts from 'typescript-6'
import { isTest } from './architecture.ts'
import { type Finding, lineOf, type Project, visit } from './project.ts'

const CONTRACT = 'packages/contract/src/'
const COVERAGE = 'test/acceptance/COVERAGE.md'

export interface DeclaredOperation {
  readonly id: string
  readonly path: string
  readonly line: number
}

/** Finds the `operation({ id: … })` calls of the contract. */
export function declaredOperations({ code }: Project): DeclaredOperation[] {
  const found: DeclaredOperation[] = []
  for (const { path, ast } of code.values()) {
    if (!path.startsWith(CONTRACT) || isTest(path)) continue
    visit(ast, (node) => {
      const id = operationId(node)
      if (id !== undefined) found.push({ id, path, line: lineOf(ast, node) })
    })
  }
  return found
}

function operationId(node: ts.Node): string | undefined {
  if (!ts.isCallExpression(node) || node.expression.getText() !== 'operation') return undefined
  const [spec] = node.arguments
  if (!spec || !ts.isObjectLiteralExpression(spec)) return undefined
  for (const property of spec.properties)
    if (
      ts.isPropertyAssignment(property) &&
      property.name.getText() === 'id' &&
      ts.isStringLiteralLike(property.initializer)
    )
      return property.initializer.text
  return undefined
}

/** The ids that no test names in quotes and no row of the coverage page lists. */
export function untested(
  ids: readonly string[],
  tests: readonly string[],
  coverage = '',
): string[] {
  const said = new Set<string>()
  for (const text of [...tests, coverage])
    for (const [, word = ''] of text.matchAll(/['"`]([\w-]+\.[\w-]+)['"`]/g)) said.add(word)
  for (const [, cell = ''] of coverage.matchAll(/\|\s*([\w-]+\.[\w-]+)\s*(?=\|)/g)) said.add(cell)
  return ids.filter((id) => !said.has(id))
}

export function checkOperations(project: Project): Finding[] {
  const operations = declaredOperations(project)
  const tests = [...project.code.values()].filter(({ path }) => isTest(path))
  const missing = untested(
    operations.map(({ id }) => id),
    tests.map(({ text }) => text),
    project.texts.get(COVERAGE),
  )
  return operations
    .filter(({ id }) => missing.includes(id))
    .map(({ id, path, line }) => ({
      path,
      line,
      rule: 'operation-untested',
      message: `no test names '${id}'`,
      use: `a test that says '${id}', or its row in ${COVERAGE}`,
    }))
}
