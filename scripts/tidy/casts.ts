// Type assertions: their number in product code may only fall.

import ts from 'typescript-6'
import { isProduct } from './architecture.ts'
import { type Finding, lineOf, type Project, visit } from './project.ts'

/** Finds assertions (`as T`, `<T>x`) in product code, except `as const`, which is safe. */
export function checkCasts({ code }: Project): Finding[] {
  const findings: Finding[] = []
  for (const { path, ast } of code.values()) {
    if (!isProduct(path)) continue
    visit(ast, (node) => {
      const asserts = ts.isAsExpression(node) && !ts.isConstTypeReference(node.type)
      if (!asserts && !ts.isTypeAssertionExpression(node)) return
      const message = `asserts ${node.type.getText(ast).slice(0, 40)}`
      const line = lineOf(ast, node)
      findings.push({ path, line, rule: 'casts', message, use: 'a parser or a type' })
    })
  }
  return findings
}
