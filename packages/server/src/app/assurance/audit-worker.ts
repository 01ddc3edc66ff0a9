// The thread that runs the conformance suite against this service at its own address.

import { parentPort, workerData } from 'node:worker_threads'
import { runConformance } from '@custos/conformance'
import { isObject } from '@custos/proof'
import type { AuditResult } from '../../slices/assurance/index.ts'
import type { AuditWork, ThreadReply } from './assurance-threads.ts'

const TIMEOUT_MS = 600_000

const tell = (reply: ThreadReply<AuditResult>): void => parentPort?.postMessage(reply)

/** Reports each store that it creates, so that a process that takes over knows what to delete. */
const tellingFetch: typeof fetch = async (input, init) => {
  const response = await fetch(input, init)
  const made = init?.method === 'POST' && String(input).endsWith('/v1/stores') && response.ok
  if (!made) return response
  const body: unknown = await response.clone().json()
  if (isObject(body) && typeof body['store_id'] === 'string') tell({ store_id: body['store_id'] })
  return response
}

async function run({ url, api_key, seed }: AuditWork): Promise<void> {
  try {
    const result = await runConformance({
      url,
      api_key,
      seed: Number.parseInt(seed, 16),
      fetch: tellingFetch,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    const { store_ids, capabilities, passed, tested } = result
    tell({ done: { result, measured: { store_ids, capabilities, passed, tested } } })
  } catch (error) {
    tell({ error: error instanceof Error ? error.name : 'unknown' })
  }
}

// Set by `AssuranceThreads`, in the same process.
const work: AuditWork = workerData
void run(work)
