// The claims of docs/trust.md and the sweeps that test them, each a set of test files.

/** The test files of a sweep. */
interface Form {
  readonly files: readonly string[]
  /** Replaces the number of rounds in the file; only for sweeps with a `round`. */
  readonly rounds?: number
  /** Regular expression: runs only the tests whose names match. */
  readonly tests?: string
}

export interface Sweep {
  /** Name for `--only`. */
  readonly name: string
  /** What breaks for a user if it fails. */
  readonly claim: string
  /** What the sweep does, and what its numbers count. */
  readonly how: string
  /** The name of its rounds among the counts of a result; absent if it has none. */
  readonly round?: string
  readonly long: Form
  /** The form that continuous integration runs; null for the long form. */
  readonly short: Form | null
}

/** The same files, which have fewer cases in the short form. */
const both = (...files: string[]): Pick<Sweep, 'long' | 'short'> => ({
  long: { files },
  short: { files },
})

export const SWEEPS: readonly Sweep[] = [
  {
    name: 'kill',
    claim: 'kill -9 under load loses nothing acknowledged, embedded engine',
    how: [
      'Six clients write, supersede, decide, erase and delete until the process gets SIGKILL at a',
      'random moment; every fourth start is killed too. After each restart the stored state is',
      'compared with every response so far, and every certificate and checkpoint is verified.',
    ].join(' '),
    round: 'kills under load',
    long: { files: ['test/crash/kill-under-load.slow.test.ts'], rounds: 1_000 },
    short: { files: ['test/crash/kill-under-load.test.ts'] },
  },
  {
    name: 'kill-postgres',
    claim: 'kill -9 under load loses nothing acknowledged, PostgreSQL',
    how: [
      'The same on PostgreSQL: the only process of the service is killed and restarted; the new',
      'process finishes or undoes interrupted erasures.',
    ].join(' '),
    round: 'kills under load',
    long: { files: ['test/processes/kill-under-load.slow.test.ts'], rounds: 200 },
    short: { files: ['test/processes/killed.test.ts'], tests: 'only process' },
  },
  {
    name: 'kill-erasing',
    claim: 'kill -9 during an erasure: it is undone or completed, never left in between',
    how: [
      'Erasures of memories, decisions, stores and labels are requested and the process gets',
      'SIGKILL within 30 ms. The second file kills it at every named step of an erasure.',
    ].join(' '),
    round: 'kills',
    long: {
      files: ['test/crash/erasure/moments.slow.test.ts', 'test/crash/erasure/steps.test.ts'],
      rounds: 100,
    },
    short: { files: ['test/crash/erasure/moments.test.ts', 'test/crash/erasure/steps.test.ts'] },
  },
  {
    name: 'each-write',
    claim: 'killed at each write and flush, the embedded engine keeps all it has acknowledged',
    how: [
      'A preloaded library counts the writes, flushes, truncations and renames of the service and',
      'kills it at the first of them under load, then from the same state at the second, and so',
      'on; every other time in the middle of a write. One client starts with erasures of memories',
      'that a decision has used.',
    ].join(' '),
    round: 'kills at a write or flush',
    long: { files: ['test/crash/each-write.slow.test.ts'], rounds: 300, tests: 'each write' },
    short: { files: ['test/crash/each-write.test.ts'], tests: 'any write or flush' },
  },
  {
    name: 'power-cut',
    claim: 'a loss of power takes nothing acknowledged, whatever the disk had not flushed',
    how: [
      'The same library records all calls. From these the disk is reconstructed as a loss of power',
      'could leave it: all flushed data, and of the rest nothing, everything, or random blocks of',
      '512 bytes and the first of the renames. The service must start on each of these disks.',
    ].join(' '),
    round: 'losses of power',
    long: { files: ['test/crash/each-write.slow.test.ts'], rounds: 100, tests: 'without power' },
    short: {
      files: ['test/crash/each-write.test.ts', 'test/crash/power-cut.test.ts'],
      tests: 'without power|survives',
    },
  },
  {
    name: 'disk-full',
    claim:
      'when any write finds the disk full, the service returns 503, loses nothing and recovers',
    how: [
      'The library fails up to twelve writes with ENOSPC, the first of them after a partial write,',
      'repeatedly and at different writes while clients continue.',
    ].join(' '),
    round: 'times without space',
    long: { files: ['test/crash/each-write.slow.test.ts'], rounds: 200, tests: 'no space' },
    short: { files: ['test/crash/each-write.test.ts'], tests: 'no space' },
  },
  {
    name: 'clock',
    claim: 'a clock that jumps loses nothing, repeats nothing and forks no log',
    how: [
      'A preloaded library makes the clock of the process jump by up to 400 days, forward and',
      'back, under load and between restarts.',
    ].join(' '),
    ...both('test/crash/clock-jumps.test.ts'),
  },
  {
    name: 'process-memory',
    claim: 'no erased word is in the memory of a process that starts after the erasure',
    how: [
      'Fifty memories, each with a unique word, are written, retrieved and erased; all writable',
      'memory of the process is searched for these words. The process that erased them may keep',
      'them until garbage collection or its end: the numbers below count such words, and nothing',
      'is claimed about them. Restart the service if that matters.',
    ].join(' '),
    ...both('test/crash/process-memory.test.ts'),
  },
  {
    name: 'processes',
    claim: 'four processes on one PostgreSQL: every acknowledged write, one log, no erased memory',
    how: [
      'Three tenants use all processes at once for a minute while a reader searches for erased',
      'words; then each process must return all that any of them acknowledged.',
    ].join(' '),
    long: { files: ['test/processes/four-processes.slow.test.ts'] },
    short: { files: ['test/processes/two-processes.test.ts'] },
  },
  {
    name: 'database-away',
    claim: 'cut off from its database the service returns 503, recovers and has lost nothing',
    how: [
      'Connections of two processes under load are cut and refused, then allowed again; everything',
      'acknowledged before, between and after the cuts must be there.',
    ].join(' '),
    ...both('test/processes/database/away.test.ts'),
  },
  {
    name: 'database-restarts',
    claim: 'a database that restarts or fails over under load loses nothing acknowledged',
    how: [
      'Under one process of the service PostgreSQL is killed (SIGKILL of all its processes),',
      'stopped immediately or stopped cleanly, and restarted on the same files. Then the primary',
      'of a synchronous standby is killed and the standby promoted. Requests meanwhile get 503.',
      'Without a restart, the service then returns every acknowledged write, certificate and',
      'checkpoint. An asynchronous standby may lack some; nothing is claimed about it.',
    ].join(' '),
    ...both('test/processes/database/restarts.test.ts'),
  },
  {
    name: 'tenants',
    claim: 'no operation returns or changes data of another tenant',
    how: [
      'Every operation of the contract is called with the ids of another tenant, by key and by',
      'browser session. The response must be the one for an id that never existed, and contain no',
      'text of the other tenant.',
    ].join(' '),
    long: { files: ['test/conformance/contract/tenancy.test.ts'] },
    short: null,
  },
  {
    name: 'fuzz',
    claim: 'no request body makes the service fail: each is accepted or refused by the contract',
    how: 'Random changes of valid requests to every operation, 5,000 from each seed.',
    round: 'seeds',
    long: { files: ['test/conformance/contract/fuzz.slow.test.ts'], rounds: 20 },
    short: { files: ['test/conformance/contract/fuzz.test.ts'] },
  },
  {
    name: 'canary',
    claim: 'erased content is readable nowhere, and no text is ever stored in plaintext',
    how: [
      'Every text field of every operation gets a unique word. All files, outputs and responses',
      'are searched for these words, in several encodings: live, after the erasure, after a',
      'restart and after a restore; on both engines.',
    ].join(' '),
    ...both('test/conformance/erasure/canary.embedded.test.ts'),
  },
  {
    name: 'restores',
    claim: 'a restored backup revives nothing erased and forks no log',
    how: [
      'Backups of data, keyring and ledger copy are restored in every combination, also with',
      'backups made under load and with a kill during the restore; on PostgreSQL by point-in-time',
      'recovery.',
    ].join(' '),
    ...both(
      'test/crash/restore.test.ts',
      'test/crash/backup-under-load.test.ts',
      'test/docs/point-in-time.test.ts',
    ),
  },
  {
    name: 'model',
    claim: 'over long random sequences the service agrees with a model of its state',
    how: 'Operations in random order; after each one the responses are compared with the model.',
    long: { files: ['test/simulate/simulation.slow.test.ts'] },
    short: { files: ['test/simulate/simulation.test.ts'] },
  },
]

export const formOf = ({ long, short }: Sweep, form: 'long' | 'short'): Form =>
  form === 'short' ? (short ?? long) : long
