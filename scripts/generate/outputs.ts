// The generated files: their paths from the project root, and their texts.

import type { OperationSpec } from '@custos/contract'
import * as contract from '@custos/contract'
import { openapiDocument } from '@custos/server'
import { commands } from '../../packages/cli/src/commands/index.ts'
import { trustPage } from '../trust/page.ts'
import { clientSources } from './client-operations.ts'
import { compactJson } from './compact-json.ts'
import { errorPages } from './error-pages.ts'
import { pythonOperations } from './python-operations.ts'
import { commandsPage, configurationPage } from './reference-pages.ts'
import { wasmSources } from './wasm-modules.ts'

export const ERRORS = 'docs/errors'

export async function generatedFiles(): Promise<Map<string, string>> {
  const files = new Map([
    ['openapi.json', `${compactJson(openapiDocument())}\n`],
    ['docs/configuration.md', configurationPage()],
    ['docs/commands.md', await commandsPage(commands)],
    ['docs/trust.md', trustPage()],
  ])
  const operations = allOperations()
  for (const [path, text] of clientSources(operations)) files.set(path, text)
  for (const [path, text] of await wasmSources()) files.set(path, text)
  files.set('python/custos-memory/src/custos_memory/_operations.py', pythonOperations(operations))
  for (const [name, text] of errorPages(operations)) files.set(`${ERRORS}/${name}`, text)
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
