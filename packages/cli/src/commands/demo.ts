// custos demo: stores, decides, erases and proves on a sample conversation, step by step.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Custos } from '@custos/client'
import { parseConfig, runFsck, startService } from '@custos/server'
import { CLIENT_OPTIONS, useClient } from '../client-calls.ts'
import { type Command, readArguments, requirePositionals } from '../command.ts'
import {
  eraseMemory,
  logDecision,
  openStoreApi,
  proveAndVerify,
  retrieveWithinBudget,
  type StoryContext,
  supersedeMemory,
  writeConversation,
} from '../demo/story.ts'

export const demo: Command = {
  usage: '[--keep] [--url URL]',
  help: `Stores a conversation, retrieves within a budget, logs a decision, corrects a memory,
erases one, and proves it. Runs its own service on a free port, with the data in a temporary
directory.

  --keep     keep data and evidence, and print where they are
  --url URL  use a running service instead (credential in CUSTOS_API_KEY), in a new store`,
  run: runDemo,
}

const print = (line: string) => console.log(line)

async function runDemo(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, {
    ...CLIENT_OPTIONS,
    keep: { type: 'boolean' },
  })
  requirePositionals(positionals)
  const dir = mkdtempSync(join(tmpdir(), 'custos-demo-'))
  try {
    if (values.url === undefined) await runOnOwnService(dir)
    else await runStory(values, { dir, data_dir: null })
    print(
      values.keep
        ? `Everything is in ${dir}:`
        : 'Data and evidence are removed; --keep keeps them.',
    )
    if (values.keep) {
      print(`  custos verify --keys ${dir}/evidence/keys.json ${dir}/evidence/certificate.json`)
      if (values.url === undefined) print(`  custos serve --data-dir ${dir}/data`)
    }
  } finally {
    if (!values.keep) rmSync(dir, { recursive: true, force: true })
  }
  return 0
}

async function runOnOwnService(dir: string): Promise<void> {
  const data_dir = join(dir, 'data')
  const config = parseConfig({
    CUSTOS_PORT: '0',
    CUSTOS_DATA_DIR: data_dir,
    CUSTOS_AUTH: 'local',
    CUSTOS_LOG_LEVEL: 'silent',
  })
  const service = await startService(config)
  try {
    print(`A new service on ${service.url}, data in ${data_dir}.`)
    await runStory({ url: service.url }, { dir, data_dir })
  } finally {
    await service.stop()
  }
  const findings = (await runFsck(config)).flatMap((report) => report.findings)
  const result = findings.length === 0 ? 'nothing found' : `${findings.length} findings`
  print(`8. Check the whole data directory, as custos fsck does: ${result}.`)
}

const runStory = (
  options: { url?: string | undefined },
  where: { dir: string; data_dir: string | null },
): Promise<void> => useClient(options, 'tenant', (custos) => tell(custos, where))

async function tell(
  custos: Custos,
  { dir, data_dir }: { dir: string; data_dir: string | null },
): Promise<void> {
  const { store_id } = await custos.memory.createStore({ name: 'demo' })
  const api = openStoreApi(custos, store_id)
  const stage: StoryContext = { api, evidence_dir: join(dir, 'evidence'), data_dir, say: print }
  const refs = await writeConversation(stage)
  await retrieveWithinBudget(stage)
  const decision_id = await logDecision(stage)
  await supersedeMemory(stage, refs)
  const certificate = await eraseMemory(stage, refs, decision_id)
  await proveAndVerify(stage, certificate, decision_id)
}
