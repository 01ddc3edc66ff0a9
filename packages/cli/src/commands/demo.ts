// custos demo: the main job, narrated, on a conversation of our own and a service of its own.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseConfig, runFsck, startService } from '@custos/server'
import { readArguments, requirePositionals } from '../arguments.ts'
import type { Command } from '../command.ts'
import { openApi } from '../demo/api.ts'
import { ask, correct, decide, erase, prove, remember, type Stage } from '../demo/story.ts'
import { CLIENT_OPTIONS, openClient, type ServiceClient } from '../service-client.ts'

export const demo: Command = {
  usage: '[--keep] [--url URL]',
  help: `Remembers a conversation, retrieves within a budget, records a decision, corrects a memory,
erases one, and proves it. Runs a service of its own on a free port with its data in a temporary
directory.

  --keep     leaves data and evidence where they are and says where
  --url URL  uses a running service instead (credential in CUSTOS_API_KEY), in a store of its own`,
  run: runDemo,
}

const say = (line: string) => console.log(line)

async function runDemo(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, {
    ...CLIENT_OPTIONS,
    keep: { type: 'boolean' },
  })
  requirePositionals(positionals)
  const dir = mkdtempSync(join(tmpdir(), 'custos-demo-'))
  try {
    if (values.url === undefined) await onOwnService(dir)
    else await tell(openClient(values, 'tenant'), { dir, data_dir: null })
    say(values.keep ? `Everything is in ${dir}:` : 'All of it has been removed; --keep keeps it.')
    if (values.keep) {
      say(`  custos verify --keys ${dir}/evidence/keys.json ${dir}/evidence/certificate.json`)
      if (values.url === undefined) say(`  custos serve --data-dir ${dir}/data`)
    }
  } finally {
    if (!values.keep) rmSync(dir, { recursive: true, force: true })
  }
  return 0
}

async function onOwnService(dir: string): Promise<void> {
  const data_dir = join(dir, 'data')
  const config = parseConfig({
    CUSTOS_PORT: '0',
    CUSTOS_DATA_DIR: data_dir,
    CUSTOS_AUTH: 'local',
    CUSTOS_LOG_LEVEL: 'silent',
  })
  const service = await startService(config)
  try {
    say(`A service of its own on ${service.url}, data in ${data_dir}.`)
    await tell(openClient({ url: service.url }, 'tenant'), { dir, data_dir })
  } finally {
    await service.stop()
  }
  const findings = (await runFsck(config)).flatMap((report) => report.findings)
  const result = findings.length === 0 ? 'nothing found' : `${findings.length} findings`
  say(`8. Check the whole data directory, as custos fsck does: ${result}.`)
}

async function tell(
  client: ServiceClient,
  { dir, data_dir }: { dir: string; data_dir: string | null },
): Promise<void> {
  const { store_id } = await client.json<{ store_id: string }>('/v1/stores', {
    method: 'POST',
    json: { name: 'demo' },
  })
  const api = openApi(client, store_id)
  const stage: Stage = { api, evidence_dir: join(dir, 'evidence'), data_dir, say }
  const refs = await remember(stage)
  await ask(stage)
  const decision_id = await decide(stage)
  await correct(stage, refs)
  const certificate = await erase(stage, refs, decision_id)
  await prove(stage, certificate, decision_id)
}
