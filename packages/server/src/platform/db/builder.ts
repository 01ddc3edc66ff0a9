// Kysely as a typed query builder only: it compiles queries, and the engines execute them.

import {
  type BinaryOperationNode,
  type CompiledQuery,
  createQueryId,
  DummyDriver,
  type FunctionNode,
  Kysely,
  OperatorNode,
  PostgresQueryCompiler,
  PrimitiveValueListNode,
  type RootOperationNode,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import type { Tables } from './schema/tables.ts'

/** Builds queries for both engines. `compile()` of its queries gives the SQLite text. */
export const builder = new Kysely<Tables>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
})

export type Builder = typeof builder

// SQLite evaluates `in ()` to false and `not in ()` to true; PostgreSQL accepts neither.
class PortableCompiler extends PostgresQueryCompiler {
  protected override visitBinaryOperation(node: BinaryOperationNode): void {
    const { operator, rightOperand } = node
    const empty = PrimitiveValueListNode.is(rightOperand) && rightOperand.values.length === 0
    const word = OperatorNode.is(operator) ? operator.operator : undefined
    if (empty && (word === 'in' || word === 'not in')) this.append(String(word === 'not in'))
    else super.visitBinaryOperation(node)
  }

  // `hex` is SQLite's name. The case of the digits differs as well, so use `lower(hex(…))`.
  protected override visitFunction(node: FunctionNode): void {
    if (node.func === 'hex') {
      this.append('encode(')
      this.compileList(node.arguments)
      this.append(", 'hex')")
    } else super.visitFunction(node)
  }
}

const compiler = new PortableCompiler()

/** The PostgreSQL text and parameters of a query that `builder` made. */
export function compilePostgres(query: { toOperationNode(): RootOperationNode }): CompiledQuery {
  return compiler.compileQuery(query.toOperationNode(), createQueryId())
}
