// One request for every operation of data subjects' requests.

import { hash } from 'node:crypto'
import type { Sent } from './table.ts'
import type { Ids } from './world.ts'

const subject = ({ subject_id }: Ids) => ({ params: { request_id: subject_id } })

/** Examples by operation id. */
/** The digest of a search that finds nothing: SHA-256 of no bytes. */
const NOTHING = hash('sha256', '')

export const subjectExamples: Readonly<Record<string, (ids: Ids) => Sent>> = {
  'subjects.erase': () => ({
    body: { find: { text: 'nobody at all' }, expect_digest: NOTHING, legal_basis: 'asked' },
  }),
  'subjects.access': () => ({ body: { find: { text: 'nobody at all' } } }),
  'subjects.list': () => ({ query: { kind: 'erase', limit: 10, offset: 0 } }),
  'subjects.get': subject,
  'subjects.extend': ({ open_subject_id }) => ({
    params: { request_id: open_subject_id },
    body: { reason: 'many stores' },
  }),
  'subjects.manifest': (ids) => ({ ...subject(ids), query: { format: 'json' } }),
}
