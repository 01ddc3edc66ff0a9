// The real service beside the model, and the tenant both are about.

import assert from 'node:assert/strict'
import {
  type Answer,
  startTestService,
  type TestService,
} from '../../../packages/server/src/testing/harness.ts'
import type { Random } from '../../crash/testing/random.ts'
import { Model } from './model.ts'

export class World {
  readonly model = new Model()
  readonly random: Random
  service: TestService
  readonly #tenant: { tenant_id: string; api_key: string }
  #count = 0

  private constructor(
    service: TestService,
    tenant: { tenant_id: string; api_key: string },
    random: Random,
  ) {
    this.service = service
    this.#tenant = tenant
    this.random = random
  }

  static async open(random: Random): Promise<World> {
    const service = await startTestService()
    const world = new World(service, await service.createTenant('simulated'), random)
    for (let i = 0; i < 2; i += 1)
      world.model.stores.push((await world.ok('POST', '/v1/stores', {})).store_id)
    return world
  }

  get tenant_id(): string {
    return this.#tenant.tenant_id
  }

  /** A text that stands nowhere else; all of them share a word that queries ask for. */
  content(): string {
    this.#count += 1
    return `The lantern zk${this.random.seed}x${this.#count}q hangs in the hall`
  }

  ask(method: string, path: string, body?: unknown): Promise<Answer> {
    const sent = body === undefined ? {} : { body }
    return this.service.request(method, path, { ...sent, key: this.#tenant.api_key })
  }

  async ok(method: string, path: string, body?: unknown): Promise<Answer['body']> {
    const { status, text, body: answer } = await this.ask(method, path, body)
    assert.ok(status >= 200 && status < 300, `${method} ${path}: ${status} ${text.slice(0, 400)}`)
    return answer
  }

  /** Every item of a list, page by page. */
  async all(path: string, key: string): Promise<Answer['body'][]> {
    const items: Answer['body'][] = []
    for (let cursor = ''; ; ) {
      const page = await this.ok('GET', `${path}?limit=500${cursor}`)
      items.push(...page[key])
      if (page.next_cursor === null) return items
      cursor = `&cursor=${page.next_cursor}`
    }
  }

  async restart(): Promise<void> {
    const { data_dir } = this.service
    await this.service.stop({ keep: true })
    this.service = await startTestService({ data_dir })
  }

  close(): Promise<void> {
    return this.service.stop()
  }
}
