// All faults that the suite notices, each in a run of its own.

import { judgeFaults } from './testing/judge-faults.ts'

judgeFaults(() => true)
