// A service whose operator may swap its data for an older copy, a witness, and those who watch.

import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
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
  const logs: WitnessedLogs[] = [...followed]
  const contradictions: string[] = []
  const witness = await startWitness(join(dir, 'witness-state'), logs, contradictions)
  ends.push(witness.close)
  const policy = {
    required: 1 + witnesses.length,
    witnesses: [{ key: WITNESS_VKEY, url: witness.url }, ...witnesses],
  }
  writeFileSync(join(dir, 'witnesses.json'), JSON.stringify(policy))
  const start = () =>
    startTestService({
      data_dir: join(dir, 'data'),
      config: { auth: 'local', witnesses: policy, origin },
      ...(step && { step }),
    })
  const scene = new WitnessScene({ dir, start, contradictions, witness_url: witness.url, origin })
  await scene.begin()
  ends.push(() => scene.service.stop({ keep: true }))
  logs.push({ origin_prefix: `${origin}/`, keys: [Buffer.from(scene.public_key, 'hex')] })
  return scene
}

type TestAnswer = Awaited<ReturnType<TestService['request']>>['body']

export class WitnessScene {
  readonly dir: string
  readonly witness_url: string
  readonly origin: string
  /** Checkpoints that contradict each other, as the witness reported them. */
  readonly contradictions: readonly string[]
  readonly #start: () => Promise<TestService>
  #service: TestService | undefined
  public_key = ''

  constructor({
    dir,
    start,
    contradictions,
    witness_url,
    origin,
  }: Pick<WitnessScene, 'dir' | 'contradictions' | 'witness_url' | 'origin'> & {
    start: () => Promise<TestService>
  }) {
    this.dir = dir
    this.contradictions = contradictions
    this.witness_url = witness_url
    this.origin = origin
    this.#start = start
  }

  async begin(): Promise<void> {
    this.#service = await this.#start()
    this.public_key = (await this.ok('GET', '/v1/gcrumbs/public_key')).public_key
  }

  get service(): TestService {
    assert.ok(this.#service)
    return this.#service
  }

  get url(): string {
    return this.service.url
  }

  async ok(method: string, path: string, body?: unknown): Promise<TestAnswer> {
    const answer = await this.service.request(method, path, body === undefined ? {} : { body })
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`)
    return answer.body
  }

  async write(...contents: readonly string[]): Promise<void> {
    for (const content of contents) await this.ok('POST', '/v1/stores/default/write', { content })
  }

  roll(): Promise<TestAnswer> {
    return this.ok('POST', '/v1/gcrumbs/roll', {})
  }

  /** The last epoch once enough witnesses cosigned it. */
  async witnessed(): Promise<TestAnswer> {
    for (let waits = 0; waits < WAITS_MAX; waits += 1) {
      const { last_epoch } = await this.ok('GET', '/v1/gcrumbs/stats')
      if (last_epoch.witnessed) return last_epoch
      await delay(WAIT_MS)
    }
    return assert.fail('the checkpoint was not witnessed')
  }

  monitor(...more: readonly string[]) {
    const args = ['--url', this.url, '--key', this.public_key, '--once', ...more]
    return runCustos(['monitor', ...args, '--state', join(this.dir, 'monitor-state')])
  }

  fsck() {
    const env = { CUSTOS_WITNESSES: join(this.dir, 'witnesses.json') }
    const data_dir = join(this.dir, 'data')
    return runCustos(['fsck', '--data-dir', data_dir, '--origin', this.origin], { env })
  }

  client(): Custos {
    return new Custos({ url: this.url, retries: 0 })
  }

  /**
   * Stops the service, copies its directory or puts such a copy in its place, starts it again.
   * `restore`: only the data, as from a backup; the keyring remembers what it signed.
   */
  async restart(change: 'copy' | 'put_back' | 'restore'): Promise<void> {
    await this.service.stop({ keep: true })
    const [data, copy] = [join(this.dir, 'data'), join(this.dir, 'copy')]
    if (change === 'copy') cpSync(data, copy, { recursive: true })
    else if (change === 'restore') cpSync(join(copy, 'custos.db'), join(data, 'custos.db'))
    else {
      rmSync(data, { recursive: true })
      cpSync(copy, data, { recursive: true })
    }
    await this.begin()
  }
}

async function startWitness(
  state: string,
  logs: readonly WitnessedLogs[],
  contradictions: string[],
) {
  const journal = new WitnessJournal(state, { key: WITNESS_VKEY, unused: true })
  const { publicKey: public_key, sign } = WITNESS_KEY
  const now_s = () => Math.floor(Date.now() / 1_000)
  const judge = new Witness({ name: WITNESS_NAME, public_key, sign, logs, journal, now_s })
  const running = await serveWitness(judge, {
    host: '127.0.0.1',
    port: 0,
    onContradiction: ({ checkpoints }) => void contradictions.push(checkpoints),
  })
  return {
    url: running.url,
    async close() {
      await running.close()
      journal.close()
    },
  }
}
