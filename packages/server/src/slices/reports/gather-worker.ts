// The worker thread that walks the log of one tenant and gathers the content of one report.

import { parentPort } from 'node:worker_threads'
import type { RefusalCode } from '@custos/contract'
import { canonicalBytes, type PublishedKey } from '@custos/proof'
import { sha256 } from '../../platform/bytes.ts'
import type { DatabaseSource } from '../../platform/db/database.ts'
import { readSource } from '../../platform/db/engines/source.ts'
import { Refusal, type RefusalExtras } from '../../platform/refusal.ts'
import { makeContent, type ReportContent, type Subject } from './content.ts'
import { WalkControl, type WalkTask, walkLog } from './walk-log.ts'

export interface GatherRequest {
  readonly source: DatabaseSource
  readonly subject: Subject
  readonly log_seq: number
  readonly signed: WalkTask['signed']
  readonly keys: readonly PublishedKey[]
  readonly origin: string
  /** The buffer of a WalkControl. */
  readonly control: SharedArrayBuffer
}

export interface GatheredReport extends ReportContent {
  readonly log_seq: number
  readonly content_hash: string
  readonly file_size_bytes: number
}

export interface GatherReply {
  readonly gathered?: GatheredReport | 'beyond'
  /** The name of the error. */
  readonly error?: string
  /** The refusal for the caller, if the database could not answer. */
  readonly refusal?: { readonly code: RefusalCode; readonly extras: RefusalExtras }
}

async function gathered(request: GatherRequest): Promise<GatheredReport | 'beyond'> {
  const { source, subject, log_seq, signed, keys, origin } = request
  const period = { from: subject.period_start, to: subject.period_end }
  const control = new WalkControl(request.control)
  const walked = await readSource(source, subject.tenant_id, (db) =>
    walkLog(db, { log_seq, signed, ...period, keys, origin }, control),
  )
  if (walked === 'beyond') return walked
  const made = makeContent(subject, walked)
  const bytes = canonicalBytes(made.content)
  return {
    ...made,
    log_seq: walked.log_seq,
    content_hash: Buffer.from(sha256(bytes)).toString('hex'),
    file_size_bytes: bytes.length,
  }
}

async function answer(request: GatherRequest): Promise<GatherReply> {
  try {
    return { gathered: await gathered(request) }
  } catch (error) {
    const name = error instanceof Error ? error.name : 'unknown'
    if (!(error instanceof Refusal)) return { error: name }
    const { retry_after_s } = error.extras
    const extras = retry_after_s === undefined ? {} : { retry_after_s }
    return { error: name, refusal: { code: error.code, extras } }
  }
}

parentPort?.on('message', async (request: GatherRequest) => {
  parentPort?.postMessage(await answer(request))
})
