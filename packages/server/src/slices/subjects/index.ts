// Requests of data subjects: handlers, the job of an erasure, and the labels that are kept.

import type { subjects } from '@custos/contract'
import type { JsonObject } from '@custos/proof'
import type { HandlersOf } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import type { SealedText, TextSource } from '../../platform/kernel/text-source.ts'
import { parseCertificate } from '../erasure/index.ts'
import { access } from './access.ts'
import { erase } from './erase.ts'
import { SUBJECT_ERASE, subjectEraser } from './erase-job.ts'
import { extend, get, list, manifest } from './requests.ts'
import { listDecisionLabels, listRecordsAfter, listStoreIds } from './subjects.sql.ts'

export const subjectsHandlers = {
  erase,
  access,
  list,
  get,
  extend,
  manifest,
} satisfies HandlersOf<typeof subjects>

/** Before the worker starts: it resumes an erasure that the last stop interrupted. */
export function registerSubjectJobs(kernel: Kernel): void {
  kernel.jobs.register(SUBJECT_ERASE, subjectEraser(kernel))
}

const BATCH = 500

/** Each label once, however many records have it. */
async function* listLabels(kernel: Kernel, tenant_id: string): AsyncGenerator<JsonObject[]> {
  const seen = new Set<string>()
  const unseen = (labels: readonly JsonObject[]): JsonObject[] =>
    labels.filter((label) => {
      const text = JSON.stringify(label)
      return !seen.has(text) && seen.add(text)
    })
  const [stores, decided] = await kernel.db.read(tenant_id, async (db) => [
    await listStoreIds(db),
    await listDecisionLabels(db),
  ])
  yield unseen(stores.map((store_id) => ({ store_id })))
  yield unseen(decided.flatMap(({ store_id, model_id }) => [{ store_id }, { model_id }]))
  for (let after = ''; ; ) {
    const last = after
    const rows = await kernel.db.read(tenant_id, (db) => listRecordsAfter(db, last, BATCH))
    const certified = rows.flatMap(({ record }): JsonObject[] => {
      const { store_id, legal_basis, requested_by } = parseCertificate(record)
      // That of a store that is gone stays in its certificates.
      return [{ legal_basis, requested_by }, ...(store_id === null ? [] : [{ store_id }])]
    })
    yield unseen(certified)
    after = rows.at(-1)?.certificate_id ?? ''
    if (rows.length < BATCH) return
  }
}

async function* scan(kernel: Kernel, tenant_id: string): AsyncGenerator<readonly SealedText[]> {
  const keys = await kernel.keyring.tenant(tenant_id)
  for await (const labels of listLabels(kernel, tenant_id))
    yield labels.map((content) => ({
      // A manifest names it, and must not contain it.
      id: keys.label(`kept_label\n${JSON.stringify(content)}`).slice(0, ID_CHARS),
      store_id: typeof content['store_id'] === 'string' ? content['store_id'] : null,
      created_us: null,
      held: true,
      secret_no: null,
      content,
    }))
}

const ID_CHARS = 32

export const keptLabelSource: TextSource = {
  kind: 'label',
  scan,
  async find(kernel, tenant_id, id) {
    for await (const labels of scan(kernel, tenant_id)) {
      const found = labels.find((label) => label.id === id)
      if (found) return found
    }
    return null
  },
  // It is held, and no redaction gets beyond that.
  prepare: async () => [Buffer.alloc(0)],
  apply: async () => false,
}
