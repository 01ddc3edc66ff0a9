// A service whose operator may swap its data for an older copy, a witness, and those who watch.

import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Custos } from '@custos/client'
import { COSIGNATURE_TYPE, verifierKey } from '@custos/proof'
import { serveWitness } from '../../../packages/cli/src/commands/log/witness.ts'
import { WitnessJournal } from '../../../packages/cli/src/commands/log/witness-journal.ts'
import { Witness, type WitnessedLogs } from '../../../packages/cli/src/commands/log/witness-log.ts'
import { runCustos } from '../../../packages/cli/src/testing/run.ts'
import { seededKey } from '../../../packages/proof/src/testing/fixtures.ts'
import { startTestService, type TestService } from '../../../packages/server/src/testing/harness.ts'

const WITNESS_KEY = seededKey(0x61)
const WITNESS_NAME = 'witness.example/w1'
export const WITNESS_VKEY = verifierKey(WITNESS_NAME, WITNESS_KEY.publicKey, COSIGNATURE_TYPE)
const WAITS_MAX = 200
const WAIT_MS = 50

export interface WitnessScene {
  readonly url: string
  readonly service: TestService
  readonly dir: string
  readonly witness_url: string
  /** Checkpoints that contradict each other, as the witness reported them. */
  readonly evidence: readonly string[]
  ok(method: string, path: string, body?: unknown): Promise<TestAnswer>
  write(...contents: readonly string[]): Promise<void>
  roll(): Promise<TestAnswer>
  /** The last epoch once the witness cosigned it. */
  witnessed(): Promise<TestAnswer>
  monitor(...more: readonly string[]): ReturnType<typeof runCustos>
  client(): Custos
  /** Stops the service, calls `change` with the data directory, and starts it again. */
  restart(change: (data_dir: string) => void): Promise<void>
  /** Copies the data directory aside, or puts such a copy in its place: both while it is stopped. */
  copy(data_dir: string): void
  putBack(data_dir: string): void
}

type TestAnswer = Awaited<ReturnType<TestService['request']>>['body']

interface SceneOptions {
  readonly origin?: string
  /** Further witnesses, which have to cosign too. */
  readonly witnesses?: readonly { readonly key: string; readonly url: string }[]
  /** Further logs that the witness follows. */
  readonly followed?: readonly WitnessedLogs[]
  readonly step?: (name: string) => void | Promise<void>
}

export async function openWitnessScene(
  t: TestContext,
  { origin = 'custos.example', witnesses = [], followed = [], step }: SceneOptions = {},
): Promise<WitnessScene> {
  const dir = mkdtempSync(join(tmpdir(), 'custos-witness-'))
  const ends: (() => void | Promise<void>)[] = [() => rmSync(dir, { recursive: true, force: true })]
  t.after(async () => {
    for (const end of ends.reverse()) await end()
  })
  const data_dir = join(dir, 'data')
  const evidence: string[] = []
  const logs: WitnessedLogs[] = [...followed]
  const witness = await startWitness(join(dir, 'witness-state'), logs, evidence)
  ends.push(witness.close)
  const policy = {
    required: 1 + witnesses.length,
    witnesses: [{ key: WITNESS_VKEY, url: witness.url }, ...witnesses],
  }
  const start = () =>
    startTestService({
      data_dir,
      config: { auth: 'local', witnesses: policy, origin },
      ...(step && { step }),
    })
  let service = await start()
  ends.push(() => service.stop({ keep: true }))
  const ok: WitnessScene['ok'] = async (method, path, body) => {
    const answer = await service.request(method, path, body === undefined ? {} : { body })
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`)
    return answer.body
  }
  const { public_key } = await ok('GET', '/v1/gcrumbs/public_key')
  logs.push({ origin_prefix: `${origin}/`, keys: [Buffer.from(public_key, 'hex')] })
  const lastEpoch = async () => (await ok('GET', '/v1/gcrumbs/stats')).last_epoch
  return {
    get url() {
      return service.url
    },
    get service() {
      return service
    },
    dir,
    witness_url: witness.url,
    evidence,
    ok,
    async write(...contents) {
      for (const content of contents) await ok('POST', '/v1/stores/default/write', { content })
    },
    roll: () => ok('POST', '/v1/gcrumbs/roll', {}),
    async witnessed() {
      for (let waits = 0; waits < WAITS_MAX; waits += 1) {
        const epoch = await lastEpoch()
        if (epoch.witnessed) return epoch
        await delay(WAIT_MS)
      }
      return assert.fail('the checkpoint was not witnessed')
    },
    monitor: (...more) =>
      runCustos([
        'monitor',
        ...['--url', service.url, '--key', public_key],
        ...['--state', join(dir, 'monitor-state'), '--once', ...more],
      ]),
    client: () => new Custos({ url: service.url, retries: 0 }),
    async restart(change) {
      await service.stop({ keep: true })
      change(data_dir)
      service = await start()
    },
    copy: (from) => cpSync(from, join(dir, 'copy'), { recursive: true }),
    putBack(to) {
      rmSync(to, { recursive: true })
      cpSync(join(dir, 'copy'), to, { recursive: true })
    },
  }
}

async function startWitness(state: string, logs: readonly WitnessedLogs[], evidence: string[]) {
  const journal = new WitnessJournal(state)
  const { publicKey: public_key, sign } = WITNESS_KEY
  const now_s = () => Math.floor(Date.now() / 1_000)
  const judge = new Witness({ name: WITNESS_NAME, public_key, sign, logs, journal, now_s })
  const running = await serveWitness(judge, {
    host: '127.0.0.1',
    port: 0,
    onEvidence: (checkpoints) => void evidence.push(checkpoints),
  })
  return {
    url: running.url,
    async close() {
      await running.close()
      journal.close()
    },
  }
}
