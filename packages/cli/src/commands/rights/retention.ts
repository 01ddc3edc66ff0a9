// custos retention and custos hold: how long a store of a running service keeps its memories, and
// the legal holds on it.

import type { Hold, Retention } from '@custos/contract'
import { CLIENT_HELP, setMembers } from '../../client-calls.ts'
import { type Command, UsageError } from '../../command.ts'
import { formatTable } from '../../output.ts'
import { CONFIRM_OPTIONS, confirm, defineVerb, runVerb, waitForJob } from '../../verbs.ts'

export const retention: Command = {
  usage: 'show STORE | set STORE --days N | set STORE --no-limit | run STORE [options]',
  help: `  show  print the retention of the store and how many memories are due
  set   set it: older memories are erased within the hour, each with a certificate
  run   erase now what is due; shows the progress. Ctrl-C ends the display, not the erasure

set and run ask on a terminal first.

  --days N      days a memory is kept after it was written (set)
  --no-limit    keep memories until somebody erases them (set)
  --basis TEXT  why memories are kept this long (set)
  --yes         do not ask
${CLIENT_HELP}`,
  run: (args) => runVerb(args, { show, set, run }),
}

const show = defineVerb({}, ['STORE'], async (custos, { positionals }) =>
  print(await custos.retention.get(positionals[0] ?? '')),
)

function print({ store_id, retain_days, basis, due, expired, holds, run, last_run }: Retention) {
  console.log(`${store_id}: ${periodOf(retain_days)}${basis === null ? '' : ` (${basis})`}`)
  console.log(`${due} memories are due, ${expired} past an expiry of their own`)
  if (holds > 0) console.log(`${holds} legal holds are in force: nothing is erased`)
  if (run) console.log(`run ${run.job_id} since ${run.started_at}: ${run.erased} of ${run.due}`)
  if (last_run) console.log(`last run ended at ${last_run.ended_at}: ${last_run.erased} erased`)
}

const periodOf = (days: number | null): string =>
  days === null ? 'kept without a limit' : `kept for ${days} days`

const SET_OPTIONS = {
  ...CONFIRM_OPTIONS,
  days: { type: 'string' },
  'no-limit': { type: 'boolean' },
  basis: { type: 'string' },
} as const

const set = defineVerb(SET_OPTIONS, ['STORE'], async (custos, { values, positionals }) => {
  const [store = ''] = positionals
  const retain_days = parseDays(values.days, values['no-limit'])
  const { retain_days: before } = await custos.retention.get(store)
  if (retain_days !== null)
    await confirm(
      `${store} is ${periodOf(before)}. Erase memories older than ${retain_days} days from now on?`,
      values.yes,
    )
  const body = { retain_days, ...setMembers({ basis: values.basis }) }
  print(await custos.retention.set(store, body))
})

function parseDays(days: string | undefined, unlimited = false): number | null {
  if ((days === undefined) !== unlimited) throw new UsageError('give either --days N or --no-limit')
  if (days === undefined) return null
  if (!/^\d+$/.test(days)) throw new UsageError('--days takes a number of days')
  return Number(days)
}

const run = defineVerb(CONFIRM_OPTIONS, ['STORE'], async (custos, { values, positionals }) => {
  const [store = ''] = positionals
  const { due } = await custos.retention.get(store)
  await confirm(`Erase ${due} memories of ${store}? It cannot be undone`, values.yes)
  const { job_id } = await custos.retention.run(store)
  await waitForJob(custos, `retention of ${store}`, job_id)
  print(await custos.retention.get(store))
})

export const hold: Command = {
  usage: 'place STORE --reason TEXT | list STORE | release STORE HOLD_ID [options]',
  help: `  place    nothing of the store is erased while the hold is in force
  list     list the holds of the store, newest first
  release  end a hold; asks on a terminal first

  --reason TEXT  why the hold is placed or released
  --matter TEXT  the legal matter (place)
  --until TIME   end of the hold (place; default: until it is released)
  --standing     only holds that are in force (list)
  --yes          do not ask (release)
${CLIENT_HELP}`,
  run: (args) => runVerb(args, { place, list, release }),
}

const PLACE_OPTIONS = {
  reason: { type: 'string' },
  matter: { type: 'string' },
  until: { type: 'string' },
} as const

const place = defineVerb(PLACE_OPTIONS, ['STORE'], async (custos, { values, positionals }) => {
  const { reason, matter, until } = values
  if (reason === undefined) throw new UsageError('say why the hold is placed: --reason TEXT')
  const placed = await custos.retention.placeHold(positionals[0] ?? '', {
    reason,
    ...setMembers({ matter, until }),
  })
  console.log(`hold ${placed.hold_id} on ${placed.store_id}, until ${placed.until ?? 'released'}`)
  if (placed.already_erasing > 0)
    console.log(`${placed.already_erasing} memories cannot be kept: their erasure had begun`)
})

const LIST_OPTIONS = { standing: { type: 'boolean' } } as const

const list = defineVerb(LIST_OPTIONS, ['STORE'], async (custos, { values, positionals }) => {
  const query = { limit: 1000, ...setMembers({ standing: values.standing }) }
  const rows: string[][] = []
  for await (const one of custos.retention.holds.all(positionals[0] ?? '', query))
    rows.push(rowOf(one))
  console.log(formatTable([['hold', 'placed', 'in force', 'until', 'matter', 'reason'], ...rows]))
})

const rowOf = ({ hold_id, placed_at, standing, until, released_at, matter, reason }: Hold) => [
  hold_id,
  placed_at,
  standing ? 'yes' : 'no',
  released_at ?? until ?? 'released',
  matter ?? '',
  reason,
]

const RELEASE_OPTIONS = { ...CONFIRM_OPTIONS, reason: { type: 'string' } } as const

const release = defineVerb(
  RELEASE_OPTIONS,
  ['STORE', 'HOLD_ID'],
  async (custos, { values, positionals: [store = '', hold_id = ''] }) => {
    await confirm(`Release the hold ${hold_id} on ${store}? Its memories can be erased`, values.yes)
    const body = setMembers({ reason: values.reason })
    const released = await custos.retention.releaseHold(store, hold_id, body)
    console.log(`hold ${released.hold_id} on ${store} released at ${released.released_at}`)
  },
)
