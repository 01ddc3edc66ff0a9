// The data of the older version in a place of its own, and the service of this tree on it.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createDatabase, type TestDatabase } from '../../../packages/server/src/testing/postgres.ts'
import { keyOf, type Recorded } from './answers.ts'
import type { Body, Client } from './client.ts'
import { custosOk, fsckOk, type Place, Service, type Settings } from './command-line.ts'
import { type Engine, type Kept, loadKept, restore } from './data.ts'
import type { Known } from './fill.ts'

const HOUR_MS = 3_600_000

export class Older {
  readonly kept: Kept
  /** Everything of the embedded engine lies below it. */
  readonly dir: string
  readonly #database: TestDatabase | null
  readonly #settings: Settings
  #service: Service | null = null

  private constructor(kept: Kept, dir: string, settings: Settings, database: TestDatabase | null) {
    this.kept = kept
    this.dir = dir
    this.#settings = settings
    this.#database = database
  }

  static async open(engine: Engine): Promise<Older> {
    const dir = mkdtempSync(join(tmpdir(), 'custos-upgrade-'))
    const database = engine === 'embedded' ? null : await createDatabase()
    const { settings } = await restore(dir, database?.url ?? null)
    return new Older(loadKept(engine), dir, settings, database)
  }

  get known(): Known {
    return this.kept.known
  }

  /** Null: the embedded engine. */
  get database_url(): string | null {
    return this.#database?.url ?? null
  }

  /** An hour after the older version had stopped, or later. */
  place(hours = 1): Place {
    const shift_ms = Date.parse(this.kept.made_at) + hours * HOUR_MS - Date.now()
    return { settings: this.#settings, shift_ms }
  }

  async start(place = this.place()): Promise<void> {
    this.#service = await Service.start(place)
  }

  get service(): Service {
    assert.ok(this.#service, 'no service runs')
    return this.#service
  }

  client(who: Recorded['who']): Client {
    return this.service.client(keyOf(this.known, who))
  }

  /** What the older version answered to this request. */
  recorded(who: Recorded['who'], path: string): Body {
    const found = this.kept.recorded.find((one) => one.who === who && one.path === path)
    assert.ok(found, `${path} is not recorded`)
    return found.body
  }

  async stop(): Promise<void> {
    await this.#service?.stop()
    this.#service = null
  }

  /** Stops the service and removes everything. */
  async remove(): Promise<void> {
    await this.stop()
    await this.#database?.drop()
    rmSync(this.dir, { recursive: true, force: true })
  }

  /** Without the service: `custos verify` finds each document valid by these keys. */
  async verify(keys: Body, documents: readonly Body[]): Promise<void> {
    const folder = mkdtempSync(join(this.dir, 'documents-'))
    const save = (name: string, body: Body): string => {
      writeFileSync(join(folder, name), JSON.stringify(body))
      return join(folder, name)
    }
    const files = documents.map((body, i) => save(`${i}.json`, body))
    const args = ['verify', '--json', '--keys', save('keys.json', keys), ...files]
    const verdicts = (await custosOk(this.place(), args)).trim().split('\n')
    assert.equal(verdicts.length, documents.length)
  }

  /** Fails with the findings of `custos fsck`. */
  fsck(): Promise<void> {
    return fsckOk(this.place())
  }
}
