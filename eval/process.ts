// The service under evaluation: a process of its own on an empty place, reached over HTTP alone.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startCustos, stop, urlOf } from '../bench/processes.ts'

/** How often a store whose index is being built is asked again. */
const ATTEMPTS_MAX = 60
const BUILDING_STATUS = 503

export interface Reply {
  readonly body: unknown
  /** From sending to the last byte of the answer; of the last attempt. */
  readonly ms: number
}

export interface Service {
  /** Both throw on anything but success. */
  get(path: string): Promise<Reply>
  post(path: string, body: unknown): Promise<Reply>
}

/** Starts the service, lets `work` use it, and removes whatever it has stored. */
export async function withService<T>(work: (service: Service) => Promise<T>): Promise<T> {
  const dir = mkdtempSync(join(tmpdir(), 'custos-eval-'))
  const child = startCustos({
    CUSTOS_DATA_DIR: dir,
    CUSTOS_DATABASE_URL: '',
    CUSTOS_KEYRING_URL: '',
    CUSTOS_AUTH: 'local',
  })
  try {
    const base = await urlOf(child)
    return await work({
      get: (path) => send(`${base}${path}`, { method: 'GET' }),
      post: (path, body) => send(`${base}${path}`, { ...POST, body: JSON.stringify(body) }),
    })
  } finally {
    await stop(child)
    rmSync(dir, { recursive: true, force: true })
  }
}

const POST = { method: 'POST', headers: { 'content-type': 'application/json' } }

async function send(url: string, request: RequestInit): Promise<Reply> {
  for (let attempt = 1; ; attempt += 1) {
    const began = performance.now()
    const answer = await fetch(url, request)
    const text = await answer.text()
    const ms = performance.now() - began
    if (answer.ok) return { body: JSON.parse(text), ms }
    if (answer.status !== BUILDING_STATUS || attempt === ATTEMPTS_MAX)
      throw new Error(`${new URL(url).pathname}: ${answer.status} ${text}`)
    const waitMs = Number(answer.headers.get('retry-after') ?? 1) * 1_000
    await new Promise((resolve) => setTimeout(resolve, waitMs))
  }
}
