// What is generated from the contract: paths from the project root, and their texts.

import type { OperationSpec } from '@custos/contract'
import * as contract from '@custos/contract'
import { openapiDocument } from '@custos/server'
import { errorPages } from './error-pages.ts'

export const ERRORS = 'docs/errors'

export function generatedFiles(): Map<string, string> {
  const files = new Map([['openapi.json', `${JSON.stringify(openapiDocument(), null, 2)}\n`]])
  for (const [name, text] of errorPages(allOperations())) files.set(`${ERRORS}/${name}`, text)
  return files
}

function allOperations(): OperationSpec[] {
  return Object.values(contract).flatMap((group) =>
    typeof group === 'object' && group !== null ? Object.values(group).filter(isOperation) : [],
  )
}

function isOperation(value: unknown): value is OperationSpec {
  return typeof value === 'object' && value !== null && 'id' in value && 'refuses' in value
}
