// Both engines of the keyring give the same guarantees.

import { keyringSuite } from './testing/keyring-suite.ts'
import { fileLocation, postgresLocation } from './testing/locations.ts'

keyringSuite('embedded', fileLocation)
keyringSuite('postgres', postgresLocation)
