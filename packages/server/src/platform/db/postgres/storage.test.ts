// The scale engine keeps what every engine promises, between two processes' worth of engines.

import { openPostgres } from '../../../testing/postgres.ts'
import { storageSuite } from '../../../testing/storage-suite.ts'

storageSuite('postgres', () => openPostgres())
