// The embedded keyring and the one on PostgreSQL do the same.

import { keyringSuite } from './testing/keyring-suite.ts'
import { filePlace, postgresPlace } from './testing/places.ts'

keyringSuite('embedded', filePlace)
keyringSuite('postgres', postgresPlace)
