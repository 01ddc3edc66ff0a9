// One request for every operation of data subjects' requests.

import { NOBODY } from '../subjects.ts'
import type { Sent } from '../table.ts'
import type { Ids } from '../world.ts'

const subject = ({ subject_id }: Ids) => ({ params: { request_id: subject_id } })

/** Examples by operation id. */
export const subjectExamples: Readonly<Record<string, (ids: Ids) => Sent>> = {
  'subjects.erase': ({ nobody_digest }) => ({
    body: { find: NOBODY, expect_digest: nobody_digest, legal_basis: 'asked' },
  }),
  'subjects.access': () => ({ body: { find: NOBODY } }),
  'subjects.list': () => ({ query: { kind: 'erase', limit: 10, offset: 0 } }),
  'subjects.get': subject,
  'subjects.extend': ({ open_subject_id }) => ({
    params: { request_id: open_subject_id },
    body: { reason: 'many stores' },
  }),
  'subjects.manifest': (ids) => ({ ...subject(ids), query: { format: 'json' } }),
}
