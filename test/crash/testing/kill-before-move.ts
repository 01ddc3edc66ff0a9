// Loaded into a command before its own code (`--import`): kills it before it moves a file to a path
// that CUSTOS_TEST_KILL_BEFORE matches.

import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const path = new RegExp(process.env['CUSTOS_TEST_KILL_BEFORE'] ?? '$^')
const { renameSync } = fs
fs.renameSync = (from, to) => {
  if (path.test(String(to))) process.kill(process.pid, 'SIGKILL')
  renameSync(from, to)
}
syncBuiltinESMExports()
