// What docs/trust.md claims, and the sweeps that a claim rests on: each is a file of tests.

/** Tests that hold a claim to account. */
interface Form {
  readonly files: readonly string[]
  /** Replaces the number the file has; of sweeps with a `round` only. */
  readonly rounds?: number
  /** Of their tests, those whose name has this. */
  readonly tests?: string
}

export interface Sweep {
  /** For `--only`. */
  readonly name: string
  /** What breaks for a user when it fails. */
  readonly claim: string
  /** What is done, and what the numbers count. */
  readonly how: string
  /** What counts its rounds among the counts of a result; absent: it has none. */
  readonly round?: string
  readonly long: Form
  /** What continuous integration runs; null: the long form. */
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
      'random moment; every fourth start is killed too. After each restart every answer given so',
      'far is compared with what is there, and every certificate and checkpoint is verified.',
    ].join(' '),
    round: 'kills under load',
    long: { files: ['test/crash/kill-under-load.slow.test.ts'], rounds: 1_000 },
    short: { files: ['test/crash/kill-under-load.test.ts'] },
  },
  {
    name: 'kill-postgres',
    claim: 'kill -9 under load loses nothing acknowledged, PostgreSQL',
    how: [
      'The same on one PostgreSQL: the only process of the service is killed and started again;',
      'what it was erasing is finished or undone by the next one.',
    ].join(' '),
    round: 'kills under load',
    long: { files: ['test/processes/kill-under-load.slow.test.ts'], rounds: 200 },
    short: { files: ['test/processes/killed.test.ts'], tests: 'only process' },
  },
  {
    name: 'kill-erasing',
    claim: 'kill -9 within an erasure: it is undone or complete, never between',
    how: [
      'Erasures of memories, decisions, stores and labels are asked for and the process gets',
      'SIGKILL within 30 ms. The second file kills at every named step of an erasure.',
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
      'A library loaded before the service counts its writes, flushes, truncations and renames and',
      'ends it at the first of them under load, then from the same state at the second, and so on;',
      'every other time in the middle of a write. One client begins with erasures of memories that',
      'a decision has used.',
    ].join(' '),
    round: 'kills at a write or flush',
    long: { files: ['test/crash/each-write.slow.test.ts'], rounds: 300, tests: 'each write' },
    short: { files: ['test/crash/each-write.test.ts'], tests: 'any write or flush' },
  },
  {
    name: 'power-cut',
    claim: 'a loss of power takes nothing acknowledged, whatever the disk had not flushed',
    how: [
      'The same library keeps a journal of all calls. From it the disk is made as a loss of power',
      'leaves it: what was flushed, and of the rest nothing, everything, or any blocks of 512',
      'bytes and the first of the changes of names. The service must start on each of these.',
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
    claim: 'with no space at any write the service answers 503, loses nothing and goes on',
    how: [
      'The library refuses up to twelve writes with ENOSPC, the first of them after a part, again',
      'and again at other writes while clients go on.',
    ].join(' '),
    round: 'times without space',
    long: { files: ['test/crash/each-write.slow.test.ts'], rounds: 200, tests: 'no space' },
    short: { files: ['test/crash/each-write.test.ts'], tests: 'no space' },
  },
  {
    name: 'clock',
    claim: 'a clock that jumps loses nothing, repeats nothing and forks no log',
    how: [
      'The clock of the process jumps by up to 400 days, forward and back, under load and between',
      'its processes, by a library loaded before it.',
    ].join(' '),
    ...both('test/crash/clock-jumps.test.ts'),
  },
  {
    name: 'process-memory',
    claim: 'no erased word is in the memory of a process that starts after the erasure',
    how: [
      'Fifty memories with a word of their own are written, retrieved and erased; all writable',
      'memory of the process is searched for the words. The process that did the erasing may hold',
      'them until it collects garbage or ends: how many it does hold is counted here, and nothing',
      'is claimed about it. Restart the service where that matters.',
    ].join(' '),
    ...both('test/crash/process-memory.test.ts'),
  },
  {
    name: 'processes',
    claim: 'four processes on one PostgreSQL: every acknowledged write, one log, no erased memory',
    how: [
      'Three tenants use all processes at once for a minute while a reader looks for erased words;',
      'then each process must show all that any of them acknowledged.',
    ].join(' '),
    long: { files: ['test/processes/four-processes.slow.test.ts'] },
    short: { files: ['test/processes/two-processes.test.ts'] },
  },
  {
    name: 'database-away',
    claim: 'cut off from its database the service answers 503, recovers and has lost nothing',
    how: [
      'Connections of two processes under load are cut and refused, then let through again; what',
      'was acknowledged before, between and after the cuts is there.',
    ].join(' '),
    ...both('test/processes/database/away.test.ts'),
  },
  {
    name: 'database-restarts',
    claim: 'a database that restarts or fails over under load loses nothing acknowledged',
    how: [
      'Under one process of the service PostgreSQL is killed (SIGKILL of all its processes),',
      'stopped at once or stopped in order, and started again on the same files. Then the primary',
      'of a synchronous standby is killed and the standby promoted. Requests meanwhile get 503.',
      'Nobody starts the service again, and it shows every acknowledged write, certificate and',
      'checkpoint. An asynchronous standby may lack some, and nothing is claimed about it.',
    ].join(' '),
    ...both('test/processes/database/restarts.test.ts'),
  },
  {
    name: 'tenants',
    claim: 'no operation shows or changes anything of another tenant',
    how: [
      'Every operation of the contract is called with the ids of another tenant, by key and by',
      'browser session. The answer must be that for an id which never existed, and hold no word of',
      'the other tenant.',
    ].join(' '),
    long: { files: ['test/conformance/contract/tenancy.test.ts'] },
    short: null,
  },
  {
    name: 'fuzz',
    claim: 'no body makes the service fail: each is taken or refused as the contract says',
    how: 'Random changes of good requests to every operation, 5,000 from each seed.',
    round: 'seeds',
    long: { files: ['test/conformance/contract/fuzz.slow.test.ts'], rounds: 20 },
    short: { files: ['test/conformance/contract/fuzz.test.ts'] },
  },
  {
    name: 'canary',
    claim: 'what was erased is readable nowhere, and no text is ever stored in clear',
    how: [
      'A word of its own goes into every text of every operation. All files, outputs and answers',
      'are searched for it, in several encodings: live, erased, restarted and restored; both',
      'engines.',
    ].join(' '),
    ...both('test/conformance/erasure/canary.embedded.test.ts'),
  },
  {
    name: 'restores',
    claim: 'a restored backup revives nothing erased and forks no log',
    how: [
      'Data, keyring and ledger copy of before are put back in every combination, also while under',
      'load and also when killed in the middle; on PostgreSQL data are recovered to a moment.',
    ].join(' '),
    ...both(
      'test/crash/restore.test.ts',
      'test/crash/backup-under-load.test.ts',
      'test/docs/point-in-time.test.ts',
    ),
  },
  {
    name: 'model',
    claim: 'over long random sequences the service agrees with a model of what it should hold',
    how: 'Operations in random order; after each one the answers are compared with the model.',
    long: { files: ['test/simulate/simulation.slow.test.ts'] },
    short: { files: ['test/simulate/simulation.test.ts'] },
  },
]

export const formOf = ({ long, short }: Sweep, form: 'long' | 'short'): Form =>
  form === 'short' ? (short ?? long) : long
