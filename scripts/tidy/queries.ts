// Checks that every query of an SQL file names its tenant.

import ts from 'typescript-6'
import { type Code, type Finding, lineOf, type Project, visit } from './project.ts'

const BUILDERS = /^(selectFrom|insertInto|updateTable|deleteFrom|replaceInto|mergeInto)$/
/** Functions of platform/db/tenant-db.ts that limit a query to the handle's tenant. */
const SCOPED = /^(from|insertInto|update|deleteFrom)$/
const RAW = /^\s*(SELECT|INSERT|UPDATE|DELETE|REPLACE|WITH)\s/i

/** Finds top-level declarations of `*.sql.ts` files that query without a tenant. */
export function checkQueries({ code }: Project): Finding[] {
  const findings: Finding[] = []
  for (const file of code.values()) {
    if (!file.path.endsWith('.sql.ts')) continue
    for (const { name, node } of declarations(file)) {
      if (!queries(node) || /\btenant_?id\b/i.test(node.getText(file.ast))) continue
      findings.push({
        path: file.path,
        line: lineOf(file.ast, node),
        rule: 'tenant-id',
        message: `${name} queries without tenant_id`,
        use: "where('tenant_id', '=', …), or from() and its kin",
      })
    }
  }
  return findings
}

function* declarations({ ast }: Code): Generator<{ name: string; node: ts.Node }> {
  for (const statement of ast.statements) {
    if (ts.isFunctionDeclaration(statement))
      yield { name: statement.name?.text ?? 'function', node: statement }
    if (!ts.isVariableStatement(statement)) continue
    for (const node of statement.declarationList.declarations)
      yield { name: node.name.getText(ast), node }
  }
}

/** Whether the node contains a query that no scoping function has built. */
function queries(node: ts.Node): boolean {
  let [built, scoped] = [false, false]
  visit(node, (inner) => {
    if (ts.isStringLiteralLike(inner) || ts.isTemplateHead(inner)) built ||= RAW.test(inner.text)
    if (!ts.isCallExpression(inner)) return
    const { expression } = inner
    if (ts.isPropertyAccessExpression(expression)) built ||= BUILDERS.test(expression.name.text)
    if (ts.isIdentifier(expression)) scoped ||= SCOPED.test(expression.text)
  })
  return built && !scoped
}
