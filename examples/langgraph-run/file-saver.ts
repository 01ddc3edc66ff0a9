// Checkpoints of LangGraph in a file, so that the example goes on after a restart without a
// database. Use a saver of LangGraph for anything else.

import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { MemorySaver } from '@langchain/langgraph'

export class FileSaver extends MemorySaver {
  readonly #path: string

  constructor(path: string) {
    super()
    this.#path = path
    if (existsSync(path)) Object.assign(this, JSON.parse(readFileSync(path, 'utf8'), revive))
  }

  override async put(...given: Parameters<MemorySaver['put']>) {
    const saved = await super.put(...given)
    this.#save()
    return saved
  }

  override async putWrites(...given: Parameters<MemorySaver['putWrites']>) {
    await super.putWrites(...given)
    this.#save()
  }

  #save(): void {
    const { storage, writes } = this
    writeFileSync(`${this.#path}.new`, JSON.stringify({ storage, writes }, replace))
    renameSync(`${this.#path}.new`, this.#path)
  }
}

/** A checkpoint is JSON as UTF-8: kept readable, so that anybody can see what it holds. */
const replace = (_: string, value: unknown): unknown =>
  value instanceof Uint8Array ? { utf8: Buffer.from(value).toString() } : value

const revive = (_: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && 'utf8' in value
    ? new Uint8Array(Buffer.from(String(value.utf8)))
    : value
